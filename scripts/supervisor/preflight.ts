import { existsSync } from "node:fs";
import path from "node:path";
import { checkFolder, checkPort, type CheckResult, checkStoreMark, runChecks } from "@atelier/server/doctor";
import { type Env, inspectEnv, isLoopback, loadConfig } from "@atelier/server/platform";
import { modelsOf, paidKinds } from "@atelier/server/providers";
import { possibleKinds } from "@atelier/worker/args";
import { answerMark } from "../process/tools.ts";
import { isRole, type PreflightReport, type Role, servingRoles, type Settings } from "./run.ts";
import { findLiveSupervisor } from "./supervise.ts";

function checkBuild(): CheckResult {
  const isOk = existsSync(path.resolve(".next", "BUILD_ID"));
  return { name: "Build", isOk, message: "There is no production build yet; run the script `build` first" };
}

async function checkAddress(env: Env): Promise<CheckResult> {
  const result = await checkPort(env.HOST, env.PORT);
  const isTaken = !result.isOk && result.name === "PORT";
  const other = !isTaken ? null : findLiveSupervisor(path.resolve(env.ATELIER_DATA_DIR), servingRoles);
  if (!other) return result;
  const what = `Atelier already runs from this data folder (pid ${other.supervisor.pid})`;
  return { ...result, message: `${env.PORT} is in use: ${what}; stop it first, or set another PORT` };
}

function checkDevHost({ HOST }: Env): CheckResult {
  const message = `${HOST} would open the development tools to the network; run \`build\` and \`start\`, or unset HOST`;
  return { name: "HOST", isOk: isLoopback(HOST), message };
}

async function checkOnly(env: Env): Promise<CheckResult> {
  // A file that cannot be read is reported by its own check.
  const models = await loadConfig(env.ATELIER_CONFIG).then(modelsOf, () => []);
  const kinds = possibleKinds(env, paidKinds(env, models));
  const unknown = env.WORKER_ONLY.filter((name) => !kinds.some((kind) => kind === name));
  const message = `names kinds that no engine here can run: ${unknown.join(", ")}. Known: ${kinds.join(", ")}`;
  return { name: "WORKER_ONLY", isOk: unknown.length === 0, message };
}

async function checkRole(role: Role, env: Env): Promise<CheckResult[]> {
  if (role === "worker") return [await checkOnly(env)];
  const address = await checkAddress(env);
  return role === "start"
    ? [checkBuild(), address]
    : [checkFolder(process.cwd()), checkDevHost(env), address, await checkOnly(env)];
}

/** An embedded database and its image store are in the same folder. A database that is away has been reported. */
async function checkShared(env: Env): Promise<CheckResult[]> {
  return env.DATABASE_URL === undefined ? [] : [await checkStoreMark(env, env.DATABASE_URL)];
}

function appUrlOf(env: Env): string {
  if (env.APP_URL) return env.APP_URL;
  const isLocal = ["127.0.0.1", "0.0.0.0", "::", "::1", "localhost"].includes(env.HOST);
  const host = env.HOST.includes(":") ? `[${env.HOST}]` : env.HOST;
  return `http://${isLocal ? "localhost" : host}:${env.PORT}`;
}

async function resolveSettings(env: Env): Promise<Settings> {
  const config = await loadConfig(env.ATELIER_CONFIG);
  return {
    host: env.HOST,
    port: env.PORT,
    dataDir: path.resolve(env.ATELIER_DATA_DIR),
    databaseUrl: env.DATABASE_URL ?? null,
    authSecret: env.AUTH_SECRET ?? null,
    appUrl: appUrlOf(env),
    stopGraceMs: config.timing.stopGraceMs,
    only: env.WORKER_ONLY,
    possibleKinds: possibleKinds(env, paidKinds(env, modelsOf(config))),
  };
}

async function report(role: Role): Promise<PreflightReport> {
  const { env } = inspectEnv(process.env);
  const results = [
    ...(await runChecks(process.env)),
    ...(await checkRole(role, env)),
    ...(await checkShared(env)),
  ];
  const shown = (all: readonly CheckResult[]) => all.map(({ name, message }) => ({ name, message }));
  const problems = shown(results.filter(({ isOk }) => !isOk));
  const warnings = shown(results.filter(({ isWarning }) => isWarning));
  if (problems.length > 0) return { problems, warnings, settings: null };
  return { problems: [], warnings, settings: await resolveSettings(env) };
}

// A separate process, so that the packages of the checks do not stay in the supervisor's memory. Prints JSON.
const role = process.argv[2] ?? "";
if (!isRole(role)) throw new Error(`Unknown role "${role}".`);
// A bucket that gave no answer in time would keep the process for minutes.
process.stdout.write(answerMark + JSON.stringify(await report(role)), () => process.exit());
