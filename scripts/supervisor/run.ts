import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { askOnly, type Flags, mayAsk, parseFlags, toArgs, usage } from "@atelier/worker/args";
import { type EmbeddedPostgres, openPostgres, readOrCreateSecret } from "../embedded/postgres.ts";
import { quickResolveFlag } from "../process/quick-resolve-flag.ts";
import { answerMark } from "../process/tools.ts";
import type { ChildSpec } from "./child.ts";
import { listenForStop, type StopSignals, watchLauncher } from "./signals.ts";
import { childrenOf, supervise, sweepLeftovers } from "./supervise.ts";

/** Role of a supervisor: `dev` runs pages and a worker, `start` the built pages, `worker` a worker. */
export type Role = "dev" | "start" | "worker";

/** Roles that serve pages. */
export const servingRoles: readonly Role[] = ["dev", "start"];

export function isRole(value: string): value is Role {
  return value === "dev" || value === "start" || value === "worker";
}

interface StepResult {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly output: string;
}

/** Runs one of our scripts as a process and returns its answer after its end; stderr goes to the terminal. */
function runStep(args: readonly string[], env: NodeJS.ProcessEnv): Promise<StepResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [quickResolveFlag, ...args], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    child.once("error", reject);
    child.once("close", (code) => {
      const answer = output.slice(output.lastIndexOf(answerMark) + 1);
      resolve({ code, output: output.includes(answerMark) ? answer : "" });
    });
  });
}

/** The part of the checked configuration that a supervisor needs. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  /** Null: the embedded database. */
  readonly databaseUrl: string | null;
  /** Null: the generated secret of the data folder. */
  readonly authSecret: string | null;
  readonly appUrl: string;
  /** Grace time of a worker at SIGTERM. */
  readonly stopGraceMs: number;
  /** Kinds to which the worker is limited; empty: all kinds. */
  readonly only: readonly string[];
  /** Kinds that a worker with this configuration can take. */
  readonly possibleKinds: readonly string[];
}

interface Problem {
  readonly name: string;
  readonly message: string;
}

export type PreflightReport = {
  /** What works and should be looked at. */
  readonly warnings: readonly Problem[];
} & (
  | { readonly problems: readonly []; readonly settings: Settings }
  | { readonly problems: readonly Problem[]; readonly settings: null }
);

function say(line: string): void {
  console.log(line);
}

/** The text of an error: one line, or the whole stack with LOG_LEVEL debug or trace. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const wantsMore = ["debug", "trace"].includes(process.env["LOG_LEVEL"] ?? "");
  return wantsMore ? (error.stack ?? error.message) : error.message;
}

function list(problems: readonly Problem[]): string {
  const lines = problems.map(({ name, message }) => `  ${name}: ${message}`);
  const count = problems.length === 1 ? "one thing has" : `${problems.length} things have`;
  return [`Atelier cannot start: ${count} to be put right.`, "", ...lines, ""].join("\n");
}

async function sweep(): Promise<void> {
  const dataDir = process.env["ATELIER_DATA_DIR"]?.trim() || ".data";
  if (!existsSync(dataDir)) return;
  // Problems of the folder are reported by the checks below.
  const swept = await sweepLeftovers(path.resolve(dataDir)).catch(() => []);
  if (swept.length > 0) say(`Ended what a killed start had left running: ${swept.join(", ")}`);
}

async function check(role: Role): Promise<Settings | null> {
  const script = path.join(import.meta.dirname, "preflight.ts");
  const { code, output } = await runStep([script, role], process.env);
  if (code !== 0) return null;
  const { problems, warnings, settings }: PreflightReport = JSON.parse(output);
  for (const { name, message } of warnings) console.error(`Warning: ${name} ${message}`);
  if (!settings) console.error(list(problems));
  return settings;
}

interface DatabaseStep {
  readonly isOk: boolean;
  /** Token for creating the first admin; empty when an admin exists or no pages are served. */
  readonly adminToken: string;
}

const notPrepared: DatabaseStep = { isOk: false, adminToken: "" };

/** Migrates the database; the step prints the reason of a failure. */
async function prepareDatabase(role: Role, env: NodeJS.ProcessEnv): Promise<DatabaseStep> {
  const { code, output } = await runStep([path.join(import.meta.dirname, "database.ts"), role], env);
  return { isOk: code === 0, adminToken: output };
}

const firstAskMs = 250;
/** The pause between requests grows, because a page with an error prints its stack at each request. */
const lastAskMs = 10_000;

const statusLine = /^HTTP\/1\.1 (\d{3}) /;

/** HTTP status of the first page. Uses a socket, because `fetch` would add 15 MB to the supervisor permanently. */
function readStatus(host: string, port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 30_000 });
    const end = (status: number | null) => {
      socket.destroy();
      resolve(status);
    };
    let head = "";
    const name = host.includes(":") ? `[${host}]` : host;
    socket.write(`GET / HTTP/1.1\r\nHost: ${name}:${port}\r\nConnection: close\r\n\r\n`);
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      head += chunk;
      const [, status] = statusLine.exec(head) ?? [];
      if (status) end(Number(status));
    });
    for (const event of ["error", "timeout", "end"] as const) socket.once(event, () => end(null));
  });
}

export function box(lines: readonly string[]): string {
  const width = Math.max(...lines.map((line) => line.length));
  const edge = "─".repeat(width + 4);
  const rows = lines.map((line) => `│  ${line.padEnd(width)}  │`);
  return [`┌${edge}┐`, ...rows, `└${edge}┘`].join("\n");
}

/** `dev` starts a worker itself. */
const ofRoles: Readonly<Partial<Record<Role, readonly string[]>>> = {
  start: ["", "Jobs wait until a worker runs beside it: npx -y pnpm@12.21.0 worker"],
};

/** The lines of the box, with the link for the first admin if no admin exists. */
export function readyLines(role: Role, appUrl: string, adminLink: string | null): string[] {
  const link =
    adminLink === null ? [] : ["", "There is no admin yet. This link makes an account the admin:", adminLink];
  return ["Atelier is ready", appUrl, ...link, ...(ofRoles[role] ?? []), "", "Ctrl-C stops it"];
}

/** Prints the address once the page answers; returns without output when `isOver`. */
async function announce(
  settings: Settings,
  options: { say: (text: string) => void; isOver: () => boolean; lines: readonly string[] },
): Promise<void> {
  const host = settings.host === "0.0.0.0" || settings.host === "::" ? "127.0.0.1" : settings.host;
  let askMs = firstAskMs;
  while (!options.isOver()) {
    const status = await readStatus(host, settings.port);
    if (status !== null && status < 500) {
      options.say(`\n${box(options.lines)}\n`);
      return;
    }
    if (status !== null) askMs = Math.min(askMs * 2, lastAskMs);
    await sleep(askMs, undefined, { ref: false });
  }
}

/** The link for creating the first admin; null when an admin exists. */
function firstAdminLink({ appUrl }: Settings, token: string): string | null {
  return token === "" ? null : `${appUrl.replace(/\/$/, "")}/sign-in#admin=${token}`;
}

/** The kinds that this worker takes: configured, or chosen in the terminal. */
async function chooseOnly({ settings, flags }: Plan, stop: StopSignals): Promise<readonly string[]> {
  const { only, possibleKinds: kinds } = settings;
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  if (!flags || flags.once || !mayAsk({ isTerminal, ci: process.env["CI"], only })) return only;
  const over = new AbortController();
  void stop.requested.then(() => over.abort());
  return askOnly({ kinds, input: process.stdin, output: process.stdout, signal: over.signal });
}

async function environmentOf(
  settings: Settings,
  database: EmbeddedPostgres | null,
): Promise<NodeJS.ProcessEnv> {
  return {
    ...process.env,
    DATABASE_URL: settings.databaseUrl ?? database?.url,
    AUTH_SECRET: settings.authSecret ?? (await readOrCreateSecret(settings.dataDir, "auth-secret")),
    NEXT_TELEMETRY_DISABLED: "1",
    // The cache also holds stripped TypeScript: it saves each process the 12 MB stripper and half of the start-up time.
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? path.join(settings.dataDir, "cache", "node"),
    ATELIER_DATA_DIR: settings.dataDir,
    ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}),
  };
}

interface Plan {
  readonly role: Role;
  readonly settings: Settings;
  /** Command-line flags of the role `worker`; null for the other roles. */
  readonly flags: Flags | null;
}

/** Prints the start message; roles with pages print it after the first page answers. */
function sayReady({ role, settings, flags }: Plan, stop: StopSignals, adminToken: string): void {
  if (role === "worker" && !flags?.once) say("The worker is running. Ctrl-C stops it");
  if (role === "worker") return;
  const lines = readyLines(role, settings.appUrl, firstAdminLink(settings, adminToken));
  void announce(settings, { say, isOver: stop.isRequested, lines });
}

async function serve(plan: Plan, stop: StopSignals): Promise<number> {
  const { role, settings, flags } = plan;
  const only = await chooseOnly(plan, stop);
  if (stop.isRequested()) return 0;
  const database = settings.databaseUrl ? null : await openPostgres({ dataDir: settings.dataDir });
  const env = { ...(await environmentOf(settings, database)), WORKER_ONLY: only.join(",") };
  const { isOk, adminToken } = stop.isRequested() ? notPrepared : await prepareDatabase(role, env);
  if (!isOk) {
    await database?.close();
    return stop.isRequested() ? 0 : 1;
  }
  const all = childrenOf(role, settings, env);
  const children = flags?.once ? all.map((spec) => runningOnce(spec, flags)) : all;
  sayReady(plan, stop, adminToken);
  const { dataDir, port } = settings;
  const served = servingRoles.includes(role) ? { port } : {};
  return supervise({ role, ...served, dataDir, children, database, stop, say });
}

function runningOnce(spec: ChildSpec, flags: Flags): ChildSpec {
  return { ...spec, args: [...spec.args, ...toArgs(flags)], lastCode: "any" };
}

/** Runs `dev`, `start` or `worker` from start to end and sets the exit code. Prints every error as plain text. */
async function run(role: Role, flags: Flags | null): Promise<void> {
  process.stdout.on("error", () => undefined); // The terminal was closed; SIGHUP follows.
  if (flags && flags.only !== null) process.env["WORKER_ONLY"] = flags.only;
  const stop = listenForStop();
  watchLauncher(stop.request);
  try {
    await sweep();
    const settings = await check(role);
    if (settings) process.exitCode = await serve({ role, settings, flags }, stop);
    else process.exitCode = stop.isRequested() ? 0 : 1;
  } catch (error) {
    console.error(`Atelier cannot start: ${describe(error)}`);
    process.exitCode = 1;
  } finally {
    stop.release();
  }
}

/** Runs the role in the first argument; a worker reads its flags from the others. */
export async function runFromArguments([role = "", ...args]: readonly string[]): Promise<void> {
  if (!isRole(role)) throw new Error(`Unknown role "${role}".`);
  if (role !== "worker") return run(role, null);
  const { flags, problem } = parseFlags(args);
  if (flags?.wantsHelp) console.log(usage);
  else if (flags) await run(role, flags);
  else {
    console.error(problem);
    process.exitCode = 1;
  }
}

// `enter` replaced its process with this file.
if (import.meta.main) await runFromArguments(process.argv.slice(2));
