import { migrate } from "@atelier/server/db";
import {
  asOperator,
  type Env,
  inspectEnv,
  isAppError,
  loadConfig,
  openLog,
  parseEnv,
} from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { openPostgres, readOrCreateSecret } from "../scripts/embedded/postgres.ts";
import { findServedPort } from "../scripts/supervisor/supervise.ts";
import { isPortGiven } from "./dot-env.ts";

/** The database of the configuration, for as long as a command needs it. */
export interface OpenDatabase {
  /** The environment of `readEnv` with DATABASE_URL and AUTH_SECRET filled in, as the supervisor fills them. */
  readonly env: Env & { readonly DATABASE_URL: string; readonly AUTH_SECRET: string };
  /** Releases the database; an embedded one without another user stops. */
  readonly close: () => Promise<void>;
}

/** The environment with the PORT of the studio that runs, which addresses that a command prints name. */
export function readEnv(): Env {
  const { env } = inspectEnv(process.env);
  return isPortGiven() ? env : { ...env, PORT: findServedPort(env.ATELIER_DATA_DIR) ?? env.PORT };
}

/** Starts the embedded database, or attaches to the running one, unless DATABASE_URL names a server. Throws StartError. */
export async function openDatabase(): Promise<OpenDatabase> {
  const env = readEnv();
  const dataDir = env.ATELIER_DATA_DIR;
  const embedded = env.DATABASE_URL ? null : await openPostgres({ dataDir });
  const databaseUrl = env.DATABASE_URL ?? embedded?.url ?? "";
  const authSecret = env.AUTH_SECRET ?? (await readOrCreateSecret(dataDir, "auth-secret"));
  return {
    env: { ...env, DATABASE_URL: databaseUrl, AUTH_SECRET: authSecret },
    close: async () => embedded?.close(),
  };
}

type Action = (services: Services) => Promise<void>;

async function run(action: Action, isAudited: boolean): Promise<void> {
  const { env, close } = await openDatabase();
  try {
    await migrate(env.DATABASE_DIRECT_URL ?? env.DATABASE_URL);
    const config = await loadConfig(env.ATELIER_CONFIG);
    const logEnv: Env = { ...env, LOG_LEVEL: isAudited ? "info" : "silent" };
    const log = await openLog({ env: logEnv, name: "cli", isCommand: true });
    const services = await openServices({ env: logEnv, config, name: "cli", log });
    try {
      await asOperator(() => action(services));
    } finally {
      await services.close();
    }
  } finally {
    await close();
  }
}

/** Drivers wrap an error in the text of the statement; the innermost error has the reason. */
function rootMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && !isAppError(error)
    ? rootMessage(error.cause)
    : error.message || error.name;
}

/**
 * Runs a command on the configured database; a failure is one line on stderr. What an audited one logs goes to the log
 * files, whatever LOG_LEVEL is. Returns the exit code.
 */
export async function withServices(action: Action, { isAudited = false } = {}): Promise<number> {
  const { problems } = parseEnv(process.env);
  if (problems.length > 0) {
    for (const { name, message } of problems) console.error(`${name} ${message}`);
    return 1;
  }
  try {
    await run(action, isAudited);
    return 0;
  } catch (error) {
    console.error(rootMessage(error));
    return 1;
  }
}
