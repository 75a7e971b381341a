import { chmodSync, mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { withFileLock } from "../process/lock.ts";
import { createCluster, databaseName, databaseUser } from "./cluster.ts";
import { enterHolder, hasLiveHolder, leaveHolder } from "./holders.ts";
import { readPostmaster } from "./postmaster-file.ts";
import { chooseRunAs } from "./run-as.ts";
import { readOrCreateSecret } from "./secrets.ts";
import { startServer, type ServerPlan } from "./server.ts";
import { stopServer } from "./stop-server.ts";

export interface EmbeddedPostgresOptions {
  /** Folder of all embedded things; the server's own data stands in `postgres` below it. */
  readonly dataDir: string;
  /** Fixed port. Default: 54320, or any free one. */
  readonly port?: number;
  /** Server settings over the defaults, for instance `{ fsync: "off" }` in tests. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** This process's hold on the embedded server of a data folder. */
export interface EmbeddedPostgres {
  /** Address of the database `atelier` with its password. Does not change while held. */
  readonly url: string;
  readonly port: number;
  /** Pid of the server's first process. */
  pid(): number | null;
  isRunning(): boolean;
  /** Starts the server again, on the same port, if it died. */
  revive(): Promise<void>;
  /** Lets go; the server stops when no live process holds it any more, whoever started it. Idempotent. */
  close(): Promise<void>;
}

function addressOf(port: number, password: string): string {
  return `postgres://${databaseUser}:${password}@127.0.0.1:${port}/${databaseName}`;
}

function makeHandle(plan: ServerPlan & { port: number }, url: string, holder: string): EmbeddedPostgres {
  const { clusterDir } = plan;
  const dataDir = path.dirname(clusterDir);
  const lock = lockOf(dataDir);
  let isClosed = false;
  return {
    url,
    port: plan.port,
    pid: () => readPostmaster(clusterDir)?.pid ?? null,
    isRunning: () => readPostmaster(clusterDir) !== null,
    revive: () =>
      withFileLock(lock, async () => {
        if (!isClosed) await startServer(plan);
      }),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await withFileLock(lock, async () => {
        leaveHolder(holder);
        if (!hasLiveHolder(dataDir)) await stopServer(clusterDir);
      });
    },
  };
}

function lockOf(dataDir: string): string {
  return path.join(dataDir, "run", "database.lock");
}

/**
 * Starts the embedded PostgreSQL of a data folder, or attaches to the one that runs. Throws StartError.
 * A server whose earlier owner is dead is thereby taken over: the last holder stops it.
 */
export async function openPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = path.resolve(options.dataDir);
  mkdirSync(dataDir, { recursive: true });
  return withFileLock(lockOf(dataDir), async () => {
    const password = readOrCreateSecret(dataDir, "postgres-password");
    const runAs = chooseRunAs();
    // The server of another user must reach its own folder, which is closed to all others.
    if (runAs.user) chmodSync(dataDir, statSync(dataDir).mode | 0o011);
    const clusterDir = path.join(dataDir, "postgres");
    const { port = null, settings = {} } = options;
    createCluster(clusterDir, { password, runAs, isDurable: settings["fsync"] !== "off" });
    const plan = { clusterDir, runAs, port, settings };
    const holder = enterHolder(dataDir);
    try {
      const server = await startServer(plan);
      return makeHandle({ ...plan, port: server.port }, addressOf(server.port, password), holder);
    } catch (error) {
      leaveHolder(holder);
      throw error;
    }
  });
}
