import type { Env } from "../platform/index.ts";

/** Where bells and hints travel: Redis when there is one, else PostgreSQL. */
export type QueueConnection =
  | { readonly backend: "redis"; readonly url: string }
  | { readonly backend: "postgres"; readonly url: string };

/** Chooses the backend from the environment; LISTEN needs a direct connection where there is a pooler. */
export function queueConnection(
  env: Pick<Env, "REDIS_URL" | "DATABASE_DIRECT_URL">,
  databaseUrl: string,
): QueueConnection {
  if (env.REDIS_URL) return { backend: "redis", url: env.REDIS_URL };
  return { backend: "postgres", url: env.DATABASE_DIRECT_URL ?? databaseUrl };
}

/** Called with errors of connections that mend themselves; they are logged, not thrown. */
export type OnConnectionError = (error: Error) => void;
