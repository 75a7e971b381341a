/**
 * Checks of an installation: environment, data folder, disk space, image store, database, Redis, configuration, and
 * everything outside that it is connected to.
 *
 * A check returns findings (ok, warning, failed, not tried) and never throws for a fault out there; it has a time limit, so
 * that none hides another. `runChecks` is what a start needs, and stops it; `checkConnections` is the rest, which a start
 * must not depend on. The words of the other side travel in `said`, as they came; `finish` makes one clean line of them,
 * without secrets, and must be the last step before a finding is shown. `checkUp` is all of it for the page of admins, with the
 * servers as workers saw them. Nothing is repaired, bought or sent here.
 */
import { type Env, inspectEnv } from "../platform/index.ts";
import type { Services } from "../services.ts";
import {
  checkConfigFile,
  checkDataDir,
  checkDiskSpace,
  checkExposure,
  checkNames,
  checkNode,
  checkProxies,
  checkSecret,
  checkSignUp,
  checkSigningKey,
  type CheckResult,
  failed,
  within,
} from "./checks.ts";
import { checkEverything } from "./checkup.ts";
import {
  checkDatabase,
  checkFactors,
  checkIdleLimit,
  checkListen,
  checkSearchIndex,
  checkTexts,
} from "./database.ts";
import { checkRedis } from "./redis.ts";
import { checkRoleLimit } from "./role.ts";
import { checkBucket, checkStoreMark } from "./storage.ts";

async function checkHost(env: Env): Promise<CheckResult[]> {
  const folders = await checkDataDir(env);
  const space = folders.every(({ isOk }) => isOk) ? [await checkDiskSpace(env.ATELIER_DATA_DIR)] : [];
  return [
    checkNode(),
    checkExposure(env),
    ...checkSignUp(env),
    ...checkSecret(env),
    await checkSigningKey(env),
    ...checkProxies(env),
    ...folders,
    ...space,
    ...(await checkConfigFile(env)),
  ];
}

/** The client of a bucket tries again for longer than a start should wait. */
const bucketMs = 10_000;

function checkServices(env: Env): Promise<CheckResult[]>[] {
  const checks: Promise<CheckResult[]>[] = [];
  const add = (name: string, check: Promise<CheckResult>, ms?: number) =>
    checks.push(
      within(
        name,
        check.then((one) => [one]),
        ms,
      ),
    );
  if (env.DATABASE_URL) add("DATABASE_URL", checkDatabase("DATABASE_URL", env.DATABASE_URL, env));
  if (env.DATABASE_DIRECT_URL)
    add("DATABASE_DIRECT_URL", checkDatabase("DATABASE_DIRECT_URL", env.DATABASE_DIRECT_URL));
  if (env.REDIS_URL) add("REDIS_URL", checkRedis(env.REDIS_URL));
  if (env.S3_BUCKET) add("S3_BUCKET", checkBucket(env), bucketMs);
  return checks;
}

/**
 * Checks the environment and everything that a start needs, with live connections (each for a few seconds at most), and
 * lists all findings, failed or not. Never throws for something that is wrong out there.
 */
export async function runChecks(
  source: Readonly<Record<string, string | undefined>>,
): Promise<CheckResult[]> {
  const { env, problems } = inspectEnv(source);
  const faults = problems.map(({ name, message }) => failed(name, message));
  return [...faults, ...checkNames(source), ...(await checkEnv(env))];
}

async function checkEnv(env: Env, services = env): Promise<CheckResult[]> {
  return (await Promise.all([checkHost(env), ...checkServices(services)])).flat();
}

/** The part of the doctor that needs the database in use, be it embedded or not: its limits, LISTEN, and the mark of the image store. */
export async function runDatabaseChecks(
  env: Env & { readonly DATABASE_URL: string },
): Promise<CheckResult[]> {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl } = env;
  const checks = [
    checkDatabase("Database", url, env),
    ...(env.DATABASE_POOLER === undefined ? [] : [checkRoleLimit(url, env)]),
    checkTexts(directUrl ?? url),
    checkIdleLimit(directUrl ?? url),
    checkListen(directUrl ?? url),
    checkSearchIndex(directUrl ?? url),
  ];
  const ofStore = checkStoreMark(env, url).then((one) => [one]);
  const found = await Promise.all([
    Promise.all(checks),
    within("Image store", ofStore, bucketMs),
    checkFactors(env, url),
  ]);
  return found.flat();
}

/** Tries everything that the process's environment names and keeps what was found, for the admin's page. */
export function checkUp(services: Pick<Services, "db" | "env" | "config">) {
  return checkEverything(services, async (env) =>
    // The database in use is the one of DATABASE_URL, which has a line of its own.
    (await Promise.all([checkEnv(env, { ...env, DATABASE_URL: undefined }), runDatabaseChecks(env)])).flat(),
  );
}

export { readCheckup } from "./checkup.ts";
export { checkFolder, checkPort, reasonOf, type CheckResult } from "./checks.ts";
export { checkConnections, finish, type Finding } from "./connections.ts";
export { ask, wordsOf } from "./other-side.ts";
export { judgeServers } from "./servers.ts";
export { checkStoreMark } from "./storage.ts";
