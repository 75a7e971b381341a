/**
 * Checks of an installation: environment, data folder, disk space, image store, database, Redis, configuration.
 *
 * A check returns a finding and never throws for a fault of the environment. Nothing is repaired here.
 */
import { type Env, inspectEnv } from "../platform/index.ts";
import {
  checkConfigFile,
  checkDataDir,
  checkDiskSpace,
  checkExposure,
  checkNames,
  checkNode,
  checkProxies,
  checkRedis,
  checkSignUp,
  type CheckResult,
  failed,
} from "./checks.ts";
import { checkDatabase, checkIdleLimit, checkListen, checkRoleLimit } from "./database.ts";
import { checkBucket, checkStoreMark } from "./storage.ts";

async function checkHost(env: Env): Promise<CheckResult[]> {
  const folder = await checkDataDir(env.ATELIER_DATA_DIR);
  const space = folder.isOk ? [await checkDiskSpace(env.ATELIER_DATA_DIR)] : [];
  return [
    checkNode(),
    checkExposure(env),
    ...checkSignUp(env),
    ...checkProxies(env),
    folder,
    ...space,
    ...(await checkConfigFile(env.ATELIER_CONFIG)),
  ];
}

function checkServices(env: Env): Promise<CheckResult>[] {
  const checks: Promise<CheckResult>[] = [];
  if (env.DATABASE_URL) checks.push(checkDatabase("DATABASE_URL", env.DATABASE_URL, env));
  if (env.DATABASE_DIRECT_URL) checks.push(checkDatabase("DATABASE_DIRECT_URL", env.DATABASE_DIRECT_URL));
  if (env.REDIS_URL) checks.push(checkRedis(env.REDIS_URL));
  if (env.S3_BUCKET) checks.push(checkBucket(env));
  return checks;
}

/**
 * Checks the environment and everything that it names, with live connections (each for a few seconds at most), and
 * lists all findings, failed or not. Never throws for something that is wrong out there.
 */
export async function runChecks(
  source: Readonly<Record<string, string | undefined>>,
): Promise<CheckResult[]> {
  const { env, problems } = inspectEnv(source);
  const results = await Promise.all([checkHost(env), Promise.all(checkServices(env))]);
  const faults = problems.map(({ name, message }) => failed(name, message));
  return [...faults, ...checkNames(source), ...results.flat()];
}

/** The part of the doctor that needs the database in use, be it embedded or not: its limits, LISTEN, and the mark of the image store. */
export async function runDatabaseChecks(
  env: Env & { readonly DATABASE_URL: string },
): Promise<CheckResult[]> {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl } = env;
  const ofPooler = env.DATABASE_POOLER === undefined ? [] : [await checkRoleLimit(url, env)];
  return [
    await checkDatabase("Database", url, env),
    ...ofPooler,
    await checkIdleLimit(directUrl ?? url),
    await checkListen(directUrl ?? url),
    await checkStoreMark(env, url),
  ];
}

export { checkPort, reasonOf, type CheckResult } from "./checks.ts";
export { checkStoreMark } from "./storage.ts";
