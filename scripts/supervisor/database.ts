import { rmSync } from "node:fs";
import path from "node:path";
import { migrate, openDatabase } from "@atelier/server/db";
import { reasonOf } from "@atelier/server/doctor";
// Not through `accounts/index.ts`, which loads the whole account service.
import { firstAdminSecret, hasAdmin } from "../../server/accounts/first-admin.ts";
import { readOrCreateSecret } from "../embedded/postgres.ts";
import { answerMark } from "../process/tools.ts";

/** The token for creating the first admin; empty when an admin exists. */
async function readFirstAdminToken(url: string, dataDir: string): Promise<string> {
  const isPooled = Boolean(process.env["DATABASE_POOLER"]?.trim());
  const database = openDatabase({ url, applicationName: "atelier start", maxConnections: 1, isPooled });
  try {
    if (!(await hasAdmin(database.db))) return await readOrCreateSecret(dataDir, firstAdminSecret);
    rmSync(path.join(dataDir, "secrets", firstAdminSecret), { force: true });
    return "";
  } finally {
    await database.close();
  }
}

async function prepare(role: string | undefined): Promise<void> {
  const url = process.env["DATABASE_URL"] ?? "";
  await migrate(process.env["DATABASE_DIRECT_URL"]?.trim() || url);
  if (role === "worker") return;
  process.stdout.write(answerMark);
  process.stdout.write(await readFirstAdminToken(url, process.env["ATELIER_DATA_DIR"] ?? ".data"));
}

// A step of the supervisor: migrates the database; then, for roles with pages, prints the token for the first admin if
// no admin exists. One process for both, because loading the packages takes longest.
try {
  await prepare(process.argv[2]);
} catch (error) {
  console.error(`The database could not be brought up to date: ${reasonOf(error)}`);
  process.exitCode = 1;
}
