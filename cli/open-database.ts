import { inspectEnv, type Env } from "@atelier/server/platform";
import { openPostgres } from "../scripts/embedded/postgres.ts";
import { readOrCreateSecret } from "../scripts/embedded/secrets.ts";

/** The database of the configuration, for as long as a command needs it. */
export interface OpenDatabase {
  /** The environment with DATABASE_URL and AUTH_SECRET filled in, as the supervisor fills them. */
  readonly env: Env & { readonly DATABASE_URL: string; readonly AUTH_SECRET: string };
  /** Lets go; an embedded database that nobody else uses stops. */
  readonly close: () => Promise<void>;
}

/** Starts the embedded database, or attaches to the running one, unless DATABASE_URL names a server. Throws StartError. */
export async function openDatabase(): Promise<OpenDatabase> {
  const { env } = inspectEnv(process.env);
  const dataDir = env.ATELIER_DATA_DIR;
  const embedded = env.DATABASE_URL ? null : await openPostgres({ dataDir });
  const databaseUrl = env.DATABASE_URL ?? embedded?.url ?? "";
  const authSecret = env.AUTH_SECRET ?? readOrCreateSecret(dataDir, "auth-secret");
  return {
    env: { ...env, DATABASE_URL: databaseUrl, AUTH_SECRET: authSecret },
    close: async () => embedded?.close(),
  };
}
