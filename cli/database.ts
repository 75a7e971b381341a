import { migrate } from "@atelier/server/db";
import { isAppError, loadConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { openDatabase } from "./open-database.ts";

async function run(action: (services: Services) => Promise<void>): Promise<void> {
  const { env, close } = await openDatabase();
  try {
    await migrate(env.DATABASE_DIRECT_URL ?? env.DATABASE_URL);
    const config = await loadConfig(env.ATELIER_CONFIG);
    const services = await openServices({ env: { ...env, LOG_LEVEL: "silent" }, config, name: "cli" });
    try {
      await action(services);
    } finally {
      await services.close();
    }
  } finally {
    await close();
  }
}

/** Drivers wrap what went wrong in the text of a statement; the innermost says it in words. */
function rootMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && !isAppError(error)
    ? rootMessage(error.cause)
    : error.message || error.name;
}

/** Runs a command on the configured database; what went wrong is said in a line on stderr. Returns the exit code. */
export async function withServices(action: (services: Services) => Promise<void>): Promise<number> {
  const { problems } = parseEnv(process.env);
  if (problems.length > 0) {
    for (const { name, message } of problems) console.error(`${name} ${message}`);
    return 1;
  }
  try {
    await run(action);
    return 0;
  } catch (error) {
    console.error(rootMessage(error));
    return 1;
  }
}
