import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { parseConfig, parseEnv, type ConfigInput, type Logger } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import pino from "pino";
import { createTestDatabase } from "../postgres/index.ts";
import { startRedis } from "../redis/index.ts";

export interface TestServicesOptions {
  readonly backend?: "postgres" | "redis";
  readonly config?: ConfigInput;
  readonly env?: Readonly<Record<string, string>>;
  /** Silent by default. */
  readonly log?: Logger;
}

export interface TestServices {
  readonly services: Services;
  /** Further services of another process on the same database, files and queue. */
  openAnother(): Promise<Services>;
  close(): Promise<void>;
}

/** Services on a migrated database and a data folder of their own, with real backends. */
export async function createTestServices(options: TestServicesOptions = {}): Promise<TestServices> {
  const database = await createTestDatabase();
  const redis = options.backend === "redis" ? await startRedis() : null;
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-test-"));
  const { env, problems } = parseEnv({
    DATABASE_URL: database.url,
    ATELIER_DATA_DIR: dataDir,
    AUTH_SECRET: "a-secret-for-tests-that-is-long-enough-0123456789",
    LOG_LEVEL: "silent",
    ...(redis ? { REDIS_URL: redis.url } : {}),
    ...options.env,
  });
  if (!env) throw new Error(`wrong test environment: ${JSON.stringify(problems)}`);
  const log = options.log ?? pino({ level: "silent" });
  const open = () => openServices({ env, config: parseConfig(options.config ?? {}), name: "test", log });
  const opened: Services[] = [await open()];
  const [services] = opened as [Services];
  return {
    services,
    async openAnother() {
      const another = await open();
      opened.push(another);
      return another;
    },
    async close() {
      for (const each of opened) await each.close();
      await redis?.destroy();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
