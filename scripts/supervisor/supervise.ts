import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { retiredExitCode } from "@atelier/worker/args";
// Not by the package's door, which loads more than a supervisor keeps.
import { decoderSettings } from "../../server/platform/child-env.ts";
import { isStartError } from "../embedded/cluster.ts";
import type { EmbeddedPostgres } from "../embedded/postgres.ts";
import { identify, isAlive, isCertainlyAlive, type ProcessIdentity, withFileLock } from "../process/lock.ts";
import { quickResolveFlag } from "../process/quick-resolve-flag.ts";
import { waitUntil } from "../process/tools.ts";
import {
  type Backoff,
  type Child,
  type ChildSpec,
  nextDelayMs,
  superviseChild,
  usualBackoff,
} from "./child.ts";
import type { Role, Settings } from "./run.ts";
import type { StopSignals } from "./signals.ts";

const rootDir = path.resolve(import.meta.dirname, "..", "..");
/**
 * Heap option of a worker. Measured when idle: 245 MB with Node's default, 85 MB with this. Most memory of a worker is
 * buffers outside this heap.
 */
const smallYoungHeap = "--max-semi-space-size=2";
/**
 * Settings of malloc in a child, on Linux with glibc. Two heaps, each of which keeps what its threads gave back: its default is 8
 * per core, with which an idle worker holds 14 MiB more and the pages 7 MiB. Blocks from 256 KiB on go back to the system
 * when they are freed; by default this limit grows with them, and the pages hold 6 MiB more.
 */
const mallocSettings = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: String(256 * 1024) };
/** Grace time of web processes. They hold no work: open streams reconnect. */
const webGraceMs = 5_000;
/** Added to the worker's own grace time, so that the worker is not killed while it hands its jobs back. */
const marginMs = 3_000;

function nextArgs(verb: "dev" | "start", settings: Settings): string[] {
  const next = createRequire(import.meta.url).resolve("next/dist/bin/next");
  return [next, verb, "-H", settings.host, "-p", String(settings.port)];
}

const frontDoor = pathToFileURL(path.join(rootDir, "scripts/web/preload.ts")).href;

/**
 * `next dev` passes only NODE_OPTIONS to the process that serves requests. Anybody may send files to the pages: there sharp opens
 * none of the formats that libvips does not trust, such as SVG, of which a kilobyte can keep a processor busy.
 */
function behindFrontDoor(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    ...env,
    VIPS_BLOCK_UNTRUSTED: "1",
    NODE_OPTIONS: `${env["NODE_OPTIONS"] ?? ""} --import=${frontDoor}`.trim(),
  };
}

/** The processes that a role runs. `env` is the environment of all of them. */
export function childrenOf(role: Role, settings: Settings, env: NodeJS.ProcessEnv): ChildSpec[] {
  const node = { file: process.execPath, cwd: rootDir };
  const mode = role === "dev" ? "development" : "production";
  const childEnv: NodeJS.ProcessEnv = { ...mallocSettings, ...decoderSettings, ...env, NODE_ENV: mode };
  const worker: ChildSpec = {
    ...node,
    name: "worker",
    args: [smallYoungHeap, quickResolveFlag, "scripts/supervisor/enter-worker.ts"],
    env: childEnv,
    graceMs: settings.stopGraceMs + marginMs,
    lastCode: retiredExitCode,
  };
  const web = (verb: "dev" | "start"): ChildSpec => ({
    ...node,
    name: "web",
    args: nextArgs(verb, settings),
    env: behindFrontDoor(childEnv),
    graceMs: webGraceMs,
  });
  if (role === "dev") return [web("dev"), worker];
  return role === "start" ? [web("start")] : [worker];
}

/** A supervisor and its children, as stored in the data folder. */
interface SupervisorRecord {
  readonly role: string;
  /** Where it serves pages; missing if it serves none. */
  readonly port?: number;
  readonly supervisor: ProcessIdentity;
  readonly children: readonly ({ readonly name: string } & ProcessIdentity)[];
}

function stateFileOf(dataDir: string): string {
  return path.join(dataDir, "supervisor.json");
}

/** All supervisors stored in the data folder, including ended ones. */
export function readRecords(dataDir: string): SupervisorRecord[] {
  try {
    return JSON.parse(readFileSync(stateFileOf(dataDir), "utf8")).supervisors;
  } catch {
    return []; // The file does not exist yet, or a full disk truncated it.
  }
}

/** Reads, changes and writes the whole file under its lock, because `start` and `worker` share it. */
export function changeRecords(
  dataDir: string,
  change: (records: SupervisorRecord[]) => SupervisorRecord[] | Promise<SupervisorRecord[]>,
): Promise<void> {
  return withFileLock(path.join(dataDir, "run", "supervisor.lock"), async () => {
    const supervisors = await change(readRecords(dataDir));
    const draft = `${stateFileOf(dataDir)}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify({ supervisors }, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, stateFileOf(dataDir));
  });
}

/** The first live supervisor of this data folder with one of these roles, if any. */
export function findLiveSupervisor(dataDir: string, roles: readonly string[]): SupervisorRecord | null {
  const records = readRecords(dataDir).filter((record) => roles.includes(record.role));
  return records.find((record) => isAlive(record.supervisor)) ?? null;
}

/** Where the studio of this data folder serves its pages now, if it does. */
export function findServedPort(dataDir: string): number | null {
  const serving = readRecords(dataDir).filter(({ port }) => port !== undefined);
  return serving.find(({ supervisor }) => isAlive(supervisor))?.port ?? null;
}

const graceMs = 5_000;

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch {
    // The process has already ended.
  }
}

async function end(child: ProcessIdentity): Promise<void> {
  signalGroup(child.pid, "SIGTERM");
  if (await waitUntil(() => !isAlive(child), graceMs)) return;
  signalGroup(child.pid, "SIGKILL");
  await waitUntil(() => !isAlive(child), graceMs);
}

/**
 * Ends the children of supervisors that were killed, so that none of them keeps a port or takes jobs. Signals a
 * process only when its pid and its start time are the recorded ones. Returns the names of the ended children.
 */
export async function sweepLeftovers(dataDir: string): Promise<string[]> {
  const swept: string[] = [];
  await changeRecords(dataDir, async (records) => {
    const isDead = (record: SupervisorRecord) => !isAlive(record.supervisor);
    const left = records.filter(isDead).flatMap((record) => record.children.filter(isCertainlyAlive));
    await Promise.all(left.map(end));
    swept.push(...left.map(({ name, pid }) => `${name} (pid ${pid})`));
    return records.filter((record) => !isDead(record));
  });
  return swept;
}

const lookMs = 1_000;

/** Checks every second that the embedded database runs, and starts it again if not, until `isOver`. */
async function watchDatabase(
  database: EmbeddedPostgres,
  options: { backoff: Backoff; say: (line: string) => void; isOver: () => boolean },
): Promise<void> {
  let delayMs = 0;
  while (!options.isOver()) {
    await sleep(lookMs, undefined, { ref: false });
    if (options.isOver() || database.isRunning()) continue;
    options.say("The database has died; starting it again");
    try {
      await database.revive();
      delayMs = 0;
      options.say("The database runs again");
    } catch (error) {
      if (!isStartError(error)) throw error;
      delayMs = nextDelayMs(options.backoff, delayMs, 0);
      options.say(`${error.message} Next try in ${delayMs / 1000} s`);
      await sleep(delayMs, undefined, { ref: false });
    }
  }
}

export interface SupervisePlan extends Pick<SupervisorRecord, "role" | "port"> {
  readonly dataDir: string;
  readonly children: readonly ChildSpec[];
  /** The embedded database to keep running, released last; null: an external server. */
  readonly database: EmbeddedPostgres | null;
  readonly stop: StopSignals;
  readonly say: (line: string) => void;
  readonly backoff?: Backoff;
}

function recordOf({ role, port }: SupervisePlan, children: readonly Child[]): SupervisorRecord {
  const alive = children.flatMap((child) => {
    const pid = child.pid();
    return pid === null ? [] : [{ name: child.name, ...identify(pid) }];
  });
  const served = port === undefined ? {} : { port };
  return { role, ...served, supervisor: identify(process.pid), children: alive };
}

/** Updates this supervisor's record in the data folder; one write at a time. */
function followChildren(plan: SupervisePlan, children: readonly Child[]) {
  let last: Promise<void> = Promise.resolve();
  const write = (own: () => SupervisorRecord[]) => {
    const change = (records: SupervisorRecord[]) => [
      ...records.filter((record) => record.supervisor.pid !== process.pid),
      ...own(),
    ];
    last = last
      .then(() => changeRecords(plan.dataDir, change))
      .catch((error: Error) => plan.say(error.message));
    return last;
  };
  return {
    update: () => void write(() => [recordOf(plan, children)]),
    remove: () => write(() => []),
  };
}

/**
 * Runs the children until a stop signal, or until all have ended and none is started again; then stops the remaining
 * children and last the database. Returns the exit code of the child that runs once, else 0.
 */
export async function supervise(plan: SupervisePlan): Promise<number> {
  const { stop, say, backoff = usualBackoff } = plan;
  const children: Child[] = [];
  const record = followChildren(plan, children);
  let exitCode = 0;
  for (const spec of plan.children) {
    const child = superviseChild(spec, { backoff, say, onChange: record.update });
    children.push(child);
    if (spec.lastCode === "any") void child.over.then((code) => (exitCode = code ?? 1));
  }
  record.update();
  const watching = plan.database
    ? watchDatabase(plan.database, { backoff, say, isOver: stop.isRequested })
    : undefined;
  watching?.catch((error: Error) => say(`The database is no longer watched: ${error.message}`));
  const over = Promise.all(children.map((child) => child.over));
  await Promise.race([stop.requested, over]);
  if (stop.isRequested()) say("Stopping");
  stop.request();
  stop.onSecond(() => {
    say("Killing what is left");
    for (const child of children) child.kill();
  });
  await Promise.all(children.map((child) => child.stop()));
  await plan.database?.close();
  await record.remove();
  say("Stopped");
  return exitCode;
}
