import {
  checkConnections,
  type CheckResult,
  type Finding,
  finish,
  judgeServers,
  reasonOf,
  runChecks,
  runDatabaseChecks,
} from "@atelier/server/doctor";
import { type Env, loadConfig, parseConfig, useProxies } from "@atelier/server/platform";
import { checkServers } from "@atelier/worker/servers";
import { endProcess, loadWorkflows } from "@atelier/worker/work";
import { openDatabase, type OpenDatabase, readEnv } from "./database.ts";
import { parseFlags } from "./flags.ts";

const neededToOpen: readonly string[] = ["ATELIER_DATA_DIR", "DATABASE_URL"];

/** Opens the database in use, unless the checks of the environment say that it cannot be. */
async function openIfWell(checks: Promise<CheckResult[]>): Promise<OpenDatabase | CheckResult | null> {
  if ((await checks).some(({ name, isOk }) => !isOk && neededToOpen.includes(name))) return null;
  try {
    return await openDatabase();
  } catch (error) {
    return { name: "Database", isOk: false, message: reasonOf(error) };
  }
}

/** All at once: the checks of the database begin when it is open. */
async function checkAll(env: Env, mailTo: string | null): Promise<CheckResult[]> {
  // A file that is not valid has a line of its own.
  const config = await loadConfig(env.ATELIER_CONFIG).catch(() => parseConfig({}));
  const checks = runChecks(process.env);
  const opening = openIfWell(checks);
  const database = opening.then((opened) => (opened && "env" in opened ? opened.env.DATABASE_URL : null));
  const ofDatabase = opening.then((opened) => {
    if (opened && "env" in opened) return runDatabaseChecks(opened.env);
    return opened ? [opened] : [];
  });
  const connections = checkConnections({ env, config, database, mailTo });
  const found = await Promise.allSettled([checks, ofDatabase, connections, checkConnectedServers(env)]);
  const opened = await opening;
  if (opened && "env" in opened) await opened.close();
  return found.flatMap((one) => {
    if (one.status === "fulfilled") return one.value;
    return [{ name: "Doctor", isOk: false, message: reasonOf(one.reason) }];
  });
}

const serverTimeoutMs = 5_000;

const nothing = { version: null, deviceName: null, device: null, needs: [], models: [], missing: {} };

const noServers: CheckResult = {
  name: "ComfyUI, IOPaint",
  isOk: true,
  isUntried: true,
  message: "COMFYUI_URLS and IOPAINT_URLS are not set: this computer's own engine does what it can",
};

/** What each ComfyUI and IOPaint server can run, and a line for each entry of the environment that names none. */
async function checkConnectedServers(env: Env): Promise<CheckResult[]> {
  const { all: workflows } = await loadWorkflows(env);
  const { servers, problems } = await checkServers(env, { workflows, timeoutMs: serverTimeoutMs });
  const seen = servers.map(({ facts, ...server }) => {
    const { version, deviceName, device, needs, models, missing } = facts ?? nothing;
    return { ...server, seenFrom: null, version, device: deviceName ?? device, needs, models, missing };
  });
  const faults = problems.map(({ what, reason }) => ({ name: what, isOk: false, message: reason }));
  if (servers.length + problems.length === 0) return [noServers];
  return [...faults, ...judgeServers(seen)];
}

const marks = { ok: "ok  ", warn: "warn", fail: "FAIL", "not tried": "–   " } as const;

function print(findings: readonly Finding[]): void {
  const width = Math.min(40, Math.max(...findings.map(({ name }) => name.length)));
  for (const { name, state, message } of findings)
    console.log(`${marks[state]}  ${name.padEnd(width)}  ${message}`);
  const failures = findings.filter(({ state }) => state === "fail").length;
  const warnings = findings.filter(({ state }) => state === "warn").length;
  const tried = findings.filter(({ state }) => state !== "not tried").length;
  const works =
    warnings === 0
      ? "Everything that was tried works."
      : `Nothing failed; look at ${warnings} of ${tried} lines (warn).`;
  console.log(failures === 0 ? `\n${works}` : `\n${failures} of ${tried} checks failed.`);
}

const usage = "Usage: atelier doctor [--json] [--mail ADDRESS]";

/** `atelier doctor`: lists what works and what does not; 1 when anything does not. */
export async function doctor(args: string[]): Promise<number> {
  const options = { json: { type: "boolean" }, mail: { type: "string" } } as const;
  const flags = parseFlags({ args, options, required: [], usage });
  if (flags === null) return 1;
  const env = readEnv();
  useProxies(env);
  const findings = finish(await checkAll(env, flags.mail ?? null), env);
  const isWell = findings.every(({ state }) => state !== "fail");
  if (flags.json) console.log(JSON.stringify({ ok: isWell, checks: findings }, null, 2));
  else print(findings);
  // What gave no answer in time may still be asked, a bucket for minutes.
  endProcess();
  return isWell ? 0 : 1;
}
