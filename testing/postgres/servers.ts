import { readFileSync, rmSync } from "node:fs";
import { migrate } from "@atelier/server/db";
import { type EmbeddedPostgres, openPostgres } from "../../scripts/embedded/postgres.ts";
import { findFreePort, waitUntil } from "../../scripts/process/tools.ts";
import { makeOwnedFolder } from "./start-test-postgres.ts";

/** A server of its own, with durable commits, to be stopped and killed by a test. */
export interface PrivatePostgres {
  /** Address of a migrated database; stays the same over restarts. */
  readonly url: string;
  /** Ordinary stop: sessions are closed, nothing is lost. */
  stop(): Promise<void>;
  /** Starts it again on the same port; returns once it takes connections. */
  start(): Promise<void>;
  /** SIGSTOP to all of its processes: connections stay open and nothing answers. */
  freeze(): void;
  /** SIGCONT to all of them. */
  thaw(): void;
  /** SIGKILL to all of them; returns once the server is gone. */
  kill9(): Promise<void>;
  /** Stops it for good and removes its files. */
  destroy(): Promise<void>;
}

/** The first process is stopped first, so that no child is born between its listing and its signal. */
function signalAll(server: EmbeddedPostgres, signal: NodeJS.Signals): void {
  const pid = server.pid();
  if (pid === null) return;
  process.kill(pid, "SIGSTOP");
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  for (const each of [pid, ...children.map(Number)]) sendIfAlive(each, signal);
}

function sendIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended.
  }
}

async function kill(server: EmbeddedPostgres): Promise<void> {
  signalAll(server, "SIGKILL");
  await waitUntil(() => !server.isRunning(), 10_000);
}

/** Starts a migrated server that no other test shares. */
export async function startPrivatePostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PrivatePostgres> {
  const dataDir = await makeOwnedFolder();
  const port = await findFreePort();
  let server = await openPostgres({ dataDir, port, settings });
  await migrate(server.url);
  const { url } = server;
  return {
    url,
    stop: () => server.close(),
    start: async () => {
      await server.close();
      server = await openPostgres({ dataDir, port, settings });
    },
    freeze: () => signalAll(server, "SIGSTOP"),
    thaw: () => signalAll(server, "SIGCONT"),
    kill9: () => kill(server),
    destroy: async () => {
      await server.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
