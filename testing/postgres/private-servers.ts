import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { migrate } from "@atelier/server/db";
import { type EmbeddedPostgres, openPostgres } from "../../scripts/embedded/postgres.ts";
import { findFreePort, waitUntil } from "../../scripts/process/tools.ts";
import { findPgvector, inTurn, makeOwnedFolder, readTemplateFolder, thrownAway } from "./servers.ts";

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
  if (!(await waitUntil(() => !server.isRunning(), 60_000)))
    throw new Error("a killed PostgreSQL does not end");
}

/** Any number that no other lock of the run's server has. */
const templateLock = 7_261_002;

/** Makes the folder from which the run's private servers are copied, unless one of them has. */
async function ensureTemplate(folder: string): Promise<void> {
  const complete = path.join(folder, "complete");
  if (existsSync(complete)) return;
  await inTurn(templateLock, async () => {
    if (existsSync(complete)) return;
    rmSync(folder, { recursive: true, force: true });
    const server = await openPostgres({ dataDir: folder, port: await findFreePort(), settings: thrownAway });
    try {
      await migrate(server.superuserUrl);
    } finally {
      await server.close();
    }
    writeFileSync(complete, "");
  });
}

/** Puts a migrated cluster and its passwords into the data folder. To make it there takes seconds of a processor. */
async function copyTemplate(folder: string, dataDir: string): Promise<void> {
  await ensureTemplate(folder);
  const parts = ["postgres", "secrets"].map((name) => path.join(folder, name));
  // `fs.cp` does not keep the owner, who is another where the tests run as root.
  await promisify(execFile)("cp", ["-a", ...parts, dataDir]);
}

/** Starts a migrated server that no other test shares. */
export async function startPrivatePostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PrivatePostgres> {
  const dataDir = await makeOwnedFolder();
  const port = await findFreePort();
  const template = readTemplateFolder();
  if (template) await copyTemplate(template, dataDir);
  let server = await openPostgres({ dataDir, port, settings });
  const { superuserUrl: url } = server;
  await migrate(url);
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

/** The same with pgvector available as an extension. Nothing is durable. */
export const startPgvector = () => startPrivatePostgres({ ...thrownAway, ...findPgvector() });
