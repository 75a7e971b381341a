import os from "node:os";
import path from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { startPrivatePostgres } from "@atelier/testing/postgres";
import { startRedis } from "@atelier/testing/redis";
import { schema } from "@atelier/server/db";
import { newId, parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import pino from "pino";

export type Backend = "postgres" | "redis";

/** Services of the product on a database with durable commits and, for `redis`, a real Redis; nothing else runs on them. */
export interface Stage {
  readonly services: Services;
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly ownerId: string;
  close(): Promise<void>;
}

export async function openStage(backend: Backend): Promise<Stage> {
  const postgres = await startPrivatePostgres();
  const redis = backend === "redis" ? await startRedis() : null;
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-bench-"));
  const { env, problems } = parseEnv({
    DATABASE_URL: postgres.url,
    ATELIER_DATA_DIR: dataDir,
    ...(redis ? { REDIS_URL: redis.url } : {}),
  });
  if (!env) throw new Error(JSON.stringify(problems));
  const config = parseConfig({ limits: { openJobs: 100_000, maxWaiting: 100_000 } });
  const services = await openServices({ env, config, name: "bench", log: pino({ level: "silent" }) });
  const ownerId = newId();
  await services.db
    .insert(schema.users)
    .values({ id: ownerId, name: "bench", email: `${ownerId}@bench.invalid` });
  return {
    services,
    databaseUrl: postgres.url,
    redisUrl: redis?.url ?? null,
    ownerId,
    async close() {
      await services.close();
      await redis?.destroy();
      await postgres.destroy();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
