import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { postgresMajor } from "./binaries.ts";
import { commandOf, type RunAs } from "./run-as.ts";
import { StartError } from "./start-error.ts";

export const databaseName = "atelier";
export const databaseUser = "atelier";

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

function runInitdb(folder: string, password: string, runAs: RunAs): void {
  const passwordFile = `${folder}.password`;
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (runAs.user) chownSync(passwordFile, runAs.user.uid, runAs.user.gid);
  try {
    const { file, args, user } = commandOf(runAs, "initdb", [
      `--pgdata=${folder}`,
      `--pwfile=${passwordFile}`,
      ...initdbArgs,
    ]);
    check(spawnSync(file, args, { ...user, encoding: "utf8" }), "make its data folder");
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

function createDatabase(folder: string, runAs: RunAs): void {
  const { file, args, user } = commandOf(runAs, "postgres", ["--single", "-D", folder, "postgres"]);
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
export function createCluster(clusterDir: string, password: string, runAs: RunAs): void {
  if (existsSync(clusterDir)) {
    checkVersion(clusterDir);
    return;
  }
  const draft = `${clusterDir}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  if (runAs.user) chownSync(draft, runAs.user.uid, runAs.user.gid);
  runInitdb(draft, password, runAs);
  createDatabase(draft, runAs);
  renameSync(draft, clusterDir);
}
