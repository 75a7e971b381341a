import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import { openPostgres } from "../../scripts/embedded/postgres.ts";
import { stopServer } from "../../scripts/embedded/server.ts";
import { findFreePort } from "../../scripts/process/tools.ts";
import { identify, isAlive } from "../../scripts/process/lock.ts";
import { serverUrlName } from "./server-url.ts";

const prefix = "atelier-test-postgres-";

/** The database server of one test run. */
export interface TestPostgres {
  readonly url: string;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

function isOwned(folder: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(path.join(folder, "owner.json"), "utf8")));
  } catch {
    return false;
  }
}

/** Ends what a killed test run left behind. */
async function sweepLeftovers(): Promise<void> {
  const names = readdirSync(os.tmpdir()).filter((name) => name.startsWith(prefix));
  for (const folder of names.map((name) => path.join(os.tmpdir(), name))) {
    if (isOwned(folder)) continue;
    await stopServer(path.join(folder, "postgres"));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes an empty folder below the system's temporary folder that the next run removes if this process is killed. */
export async function makeOwnedFolder(): Promise<string> {
  await sweepLeftovers();
  const draft = mkdtempSync(path.join(os.tmpdir(), "atelier-draft-"));
  chmodSync(draft, 0o755);
  writeFileSync(path.join(draft, "owner.json"), JSON.stringify(identify(process.pid)));
  // It gets the swept name only with its owner inside: another run may sweep at this moment.
  const folder = draft.replace("atelier-draft-", prefix);
  renameSync(draft, folder);
  return folder;
}

/** Starts the server that `createTestDatabase` of this process and its children uses. No fsync: data is thrown away. */
export async function startTestPostgres(): Promise<TestPostgres> {
  const dataDir = await makeOwnedFolder();
  const settings = { fsync: "off", full_page_writes: "off", max_connections: "400" };
  const server = await openPostgres({ dataDir, port: await findFreePort(), settings });
  process.env[serverUrlName] = server.url;
  return {
    url: server.url,
    stop: async () => {
      await server.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
