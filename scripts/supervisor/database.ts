import { rmSync } from "node:fs";
import path from "node:path";
import { openDatabase } from "@atelier/server/db";
// Not by the door of accounts, which loads the whole account service.
import { firstAdminSecret, hasAdmin } from "../../server/accounts/first-admin.ts";
import { readOrCreateSecret } from "../embedded/postgres.ts";

// A step of the supervisor, after the migration: prints the token of the first admin while there is none.
const dataDir = process.env["ATELIER_DATA_DIR"] ?? ".data";
const database = openDatabase({
  url: process.env["DATABASE_URL"] ?? "",
  applicationName: "atelier start",
  maxConnections: 1,
});
try {
  if (await hasAdmin(database.db)) rmSync(path.join(dataDir, "secrets", firstAdminSecret), { force: true });
  else process.stdout.write(readOrCreateSecret(dataDir, firstAdminSecret));
} finally {
  await database.close();
}
