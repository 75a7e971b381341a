import { reasonOf, runChecks, runDatabaseChecks, type CheckResult } from "@atelier/server/doctor";
import { inspectEnv } from "@atelier/server/platform";
import { checkServers } from "@atelier/worker/servers";
import { loadWorkflows } from "@atelier/worker/work";
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

const serverTimeoutMs = 5_000;
const engineTitles = { comfyui: "ComfyUI", iopaint: "IOPaint" } as const;

/** One line for each ComfyUI and IOPaint server, and for each entry of the environment that names none. */
async function checkConnectedServers(): Promise<CheckResult[]> {
  const { env } = inspectEnv(process.env);
  const { workflows } = await loadWorkflows(env);
  const { servers, problems } = await checkServers(env, { workflows, timeoutMs: serverTimeoutMs });
  const ofServers = servers.map(({ label, engine, facts, reason }) => ({
    name: `${engineTitles[engine]} ${label}`,
    isOk: facts !== null,
    message: facts ? `answers and can run ${facts.needs.length} kinds or workflows` : (reason ?? ""),
  }));
  return [
    ...problems.map(({ what, reason }) => ({ name: what, isOk: false, message: reason })),
    ...ofServers,
  ];
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
  const ofServers = await checkConnectedServers();
  const ofDatabase = cannotOpen ? [] : await checkDatabaseInUse();
  const results = [...checks, ...ofDatabase, ...ofServers];
  print(results);
  const failures = results.filter(({ isOk }) => !isOk).length;
  console.log(failures === 0 ? "\nEverything works." : `\n${failures} of ${results.length} checks failed.`);
  return failures === 0 ? 0 : 1;
}
