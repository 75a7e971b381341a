import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { findFreePort, waitUntil } from "../../scripts/process/tools.ts";
import { ensurePgBouncer } from "../../scripts/test/lib.ts";
import { killAtExit } from "../processes/index.ts";

/** A real PgBouncer of its own in transaction mode by default, as it is installed: it refuses parameters that it does not know. */
export interface PgBouncer {
  /** The address that it was started for, through it. */
  readonly url: string;
  /** What it has answered to clients that it refused, from its log. */
  refusals(): readonly string[];
  /** Ends it. */
  destroy(): Promise<void>;
}

interface PgBouncerOptions {
  /** Sessions of the database that all its clients share. */
  readonly poolSize?: number;
  /** How long a client keeps a session. */
  readonly mode?: "transaction" | "statement";
}

const readyMs = 10_000;
/** PgBouncer does not run as root. */
const nobody = 65_534;

/** Prepared statements fail, as they do before version 1.21, which first had the setting. */
function withoutPrepared(): string[] {
  const [, minor] = /PgBouncer 1\.(\d+)/.exec(spawnSync("pgbouncer", ["--version"]).stdout.toString()) ?? [];
  return Number(minor) >= 21 ? ["max_prepared_statements = 0"] : [];
}

function settingsOf(target: URL, port: number, { poolSize, mode }: Required<PgBouncerOptions>): string {
  const { hostname, port: targetPort, username, password } = target;
  const login = `user=${username} password=${decodeURIComponent(password)}`;
  return [
    "[databases]",
    `* = host=${hostname} port=${targetPort} ${login}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    `default_pool_size = ${poolSize}`,
    ...withoutPrepared(),
    "max_client_conn = 400",
    "",
  ].join("\n");
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function launch(folder: string): { child: ChildProcess; output: () => string } {
  const asNobody = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const child = spawn("pgbouncer", [path.join(folder, "pgbouncer.ini")], {
    stdio: ["ignore", "ignore", "pipe"],
    ...asNobody,
  });
  killAtExit(child);
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => (text += part));
  child.once("error", (error) => (text += error.message));
  return { child, output: () => text };
}

/** Starts one in front of the server of this address. */
export async function startPgBouncer(
  target: string,
  { poolSize = 10, mode = "transaction" }: PgBouncerOptions = {},
): Promise<PgBouncer> {
  if (!ensurePgBouncer()) throw new Error("PgBouncer is not installed");
  const port = await findFreePort();
  const url = new URL(target);
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-test-pgbouncer-"));
  chmodSync(folder, 0o755);
  writeFileSync(path.join(folder, "pgbouncer.ini"), settingsOf(url, port, { poolSize, mode }), {
    mode: 0o644,
  });
  const { child, output } = launch(folder);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  url.hostname = "127.0.0.1";
  url.port = String(port);
  const isReady = await waitUntil(async () => hasEnded() || (await answers(url.href)), readyMs);
  if (!isReady || hasEnded()) throw new Error(`PgBouncer did not start:\n${output()}`);
  return {
    url: url.href,
    refusals: () => [...output().matchAll(/unsupported startup parameter[^\n]*/g)].map(([line]) => line),
    async destroy() {
      const ended = hasEnded() ? Promise.resolve() : new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
