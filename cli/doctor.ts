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
import { type Env, inspectEnv, loadConfig, parseConfig, useProxies } from "@atelier/server/platform";
import { checkServers } from "@atelier/worker/servers";
import { loadWorkflows } from "@atelier/worker/work";
import { openDatabase } from "./database.ts";
import { parseFlags } from "./flags.ts";

/** Opens the database in use for the checks that need it, also for those of the outside. */
async function checkStudio(env: Env, canOpen: boolean, mailTo: string | null): Promise<CheckResult[]> {
  // A file that is not valid has a line of its own.
  const config = await loadConfig(env.ATELIER_CONFIG).catch(() => parseConfig({}));
  const connected = { env, config, mailTo };
  if (!canOpen) return checkConnections({ ...connected, databaseUrl: null });
  try {
    const opened = await openDatabase();
    try {
      const databaseUrl = opened.env.DATABASE_URL;
      const found = [runDatabaseChecks(opened.env), checkConnections({ ...connected, databaseUrl })];
      return (await Promise.all(found)).flat();
    } finally {
      await opened.close();
    }
  } catch (error) {
    const fault = { name: "Database", isOk: false, message: reasonOf(error) };
    return [fault, ...(await checkConnections({ ...connected, databaseUrl: null }))];
  }
}

const serverTimeoutMs = 5_000;

const nothing = { version: null, deviceName: null, device: null, needs: [], models: [], missing: {} };

/** What each ComfyUI and IOPaint server can run, and a line for each entry of the environment that names none. */
async function checkConnectedServers(env: Env): Promise<CheckResult[]> {
  const { workflows } = await loadWorkflows(env);
  const { servers, problems } = await checkServers(env, { workflows, timeoutMs: serverTimeoutMs });
  const seen = servers.map(({ facts, ...server }) => {
    const { version, deviceName, device, needs, models, missing } = facts ?? nothing;
    return { ...server, seenFrom: null, version, device: deviceName ?? device, needs, models, missing };
  });
  const faults = problems.map(({ what, reason }) => ({ name: what, isOk: false, message: reason }));
  return [...faults, ...judgeServers(seen)];
}

const marks = { ok: "ok  ", warn: "warn", fail: "FAIL", "not tried": "–   " } as const;

function print(findings: readonly Finding[]): void {
  const width = Math.min(40, Math.max(...findings.map(({ name }) => name.length)));
  for (const { name, state, message } of findings)
    console.log(`${marks[state]}  ${name.padEnd(width)}  ${message}`);
  const failures = findings.filter(({ state }) => state === "fail").length;
  const tried = findings.filter(({ state }) => state !== "not tried").length;
  console.log(
    failures === 0 ? "\nEverything that was tried works." : `\n${failures} of ${tried} checks failed.`,
  );
}

const usage = "Usage: atelier doctor [--json] [--mail ADDRESS]";

/** `atelier doctor`: lists what works and what does not; 1 when anything does not. */
export async function doctor(args: string[]): Promise<number> {
  const options = { json: { type: "boolean" }, mail: { type: "string" } } as const;
  const flags = parseFlags({ args, options, required: [], usage });
  if (flags === null) return 1;
  const { env } = inspectEnv(process.env);
  useProxies(env);
  const [checks, ofServers] = await Promise.all([runChecks(process.env), checkConnectedServers(env)]);
  const needed = ["ATELIER_DATA_DIR", "DATABASE_URL"];
  const canOpen = !checks.some(({ name, isOk }) => !isOk && needed.includes(name));
  const rest = await checkStudio(env, canOpen, flags.mail ?? null);
  const findings = finish([...checks, ...rest, ...ofServers], env);
  const isWell = findings.every(({ state }) => state !== "fail");
  if (flags.json) console.log(JSON.stringify({ ok: isWell, checks: findings }, null, 2));
  else print(findings);
  return isWell ? 0 : 1;
}
