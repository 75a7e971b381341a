import { existsSync } from "node:fs";
import { reasonOf } from "@atelier/server/doctor";
import { migrate } from "@atelier/server/db";
import { inspectEnv } from "@atelier/server/platform";
import { openPostgres } from "./embedded/postgres.ts";

/** Brings the database of the configuration, embedded or not, to the current schema. */
async function main(): Promise<void> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  const { env, problems } = inspectEnv(process.env);
  const problem = problems.find(({ name }) => name === "DATABASE_URL" || name === "DATABASE_DIRECT_URL");
  if (problem) throw new Error(`${problem.name} ${problem.message}`);
  const directUrl = env.DATABASE_DIRECT_URL ?? env.DATABASE_URL;
  if (directUrl) return migrate(directUrl);
  const database = await openPostgres({ dataDir: env.ATELIER_DATA_DIR });
  try {
    await migrate(database.url);
  } finally {
    await database.close();
  }
}

// The data folder may be made here; it is for this user alone.
process.umask(0o077);
try {
  await main();
} catch (error) {
  console.log(`The database could not be brought up to date: ${reasonOf(error)}`);
  process.exitCode = 1;
}
