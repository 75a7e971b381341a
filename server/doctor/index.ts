export { checkPort } from "./checks.ts";
export { reasonOf, type CheckResult } from "./check-result.ts";
export { runChecks, runDatabaseChecks } from "./run-checks.ts";
