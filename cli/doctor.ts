import { reasonOf, runChecks, runDatabaseChecks, type CheckResult } from "@atelier/server/doctor";
import { openDatabase } from "./database.ts";

async function checkDatabaseInUse(): Promise<CheckResult[]> {
  try {
    const { env, close } = await openDatabase();
    try {
      return await runDatabaseChecks(env);
    } finally {
      await close();
    }
  } catch (error) {
    return [{ name: "Database", isOk: false, message: reasonOf(error) }];
  }
}

function print(results: readonly CheckResult[]): void {
  const width = Math.max(...results.map(({ name }) => name.length));
  for (const { name, isOk, isWarning, message } of results) {
    const mark = isWarning ? "warn" : "ok  ";
    console.log(`${isOk ? mark : "FAIL"}  ${name.padEnd(width)}  ${message}`);
  }
}

/** `atelier doctor`: lists what works and what does not; 1 when anything does not. */
export async function doctor(): Promise<number> {
  const checks = await runChecks(process.env);
  const cannotOpen = checks.some(
    ({ name, isOk }) => !isOk && (name === "ATELIER_DATA_DIR" || name === "DATABASE_URL"),
  );
  const results = cannotOpen ? checks : [...checks, ...(await checkDatabaseInUse())];
  print(results);
  const failures = results.filter(({ isOk }) => !isOk).length;
  console.log(failures === 0 ? "\nEverything works." : `\n${failures} of ${results.length} checks failed.`);
  return failures === 0 ? 0 : 1;
}
