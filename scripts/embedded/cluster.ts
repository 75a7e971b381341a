import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { postgresMajor } from "./binaries.ts";
import { commandOf, type RunAs } from "./run-as.ts";
import { StartError } from "./start-error.ts";

export const databaseName = "atelier";
export const databaseUser = "atelier";

export interface ClusterPlan {
  readonly password: string;
  readonly runAs: RunAs;
  /** False leaves out every fsync: for data that is thrown away. */
  readonly isDurable: boolean;
}

const initdbArgs = [
  `--username=${databaseUser}`,
  "--auth=scram-sha-256",
  "--encoding=UTF8",
  "--locale=C",
  "--locale-provider=builtin",
  "--builtin-locale=C.UTF-8",
  // The password has 256 random bits, so stretching it would only make connecting slow.
  "--set=scram_iterations=1",
];

function check(answer: SpawnSyncReturns<string>, what: string): void {
  if (answer.status === 0) return;
  const detail = answer.error?.message ?? answer.stderr.trim().split("\n").slice(-3).join(" ");
  throw new StartError(`The embedded PostgreSQL could not ${what}: ${detail}`);
}

function runInitdb(folder: string, plan: ClusterPlan): void {
  const { password, runAs } = plan;
  const passwordFile = `${folder}.password`;
  writeFileSync(passwordFile, password, { mode: 0o600 });
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

function createDatabase(folder: string, { runAs, isDurable }: ClusterPlan): void {
  const flags = isDurable ? [] : ["-F"];
  const { file, args, user } = commandOf(runAs, "postgres", ["--single", ...flags, "-D", folder, "postgres"]);
  const input = `CREATE DATABASE ${databaseName};\n`;
  check(spawnSync(file, args, { ...user, input, encoding: "utf8" }), "create its database");
}

function checkVersion(clusterDir: string): void {
  const major = readFileSync(path.join(clusterDir, "PG_VERSION"), "utf8").trim();
  if (major === postgresMajor) return;
  throw new StartError(
    `${clusterDir} belongs to PostgreSQL ${major}, but version ${postgresMajor} is installed. Move the folder away, or install the version of Atelier that made it.`,
  );
}

/** Makes the data folder with an empty database in it, once; it appears whole or not at all. */
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
