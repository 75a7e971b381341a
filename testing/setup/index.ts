import { hasTestPostgres, startTestPostgres } from "../postgres/servers.ts";

/** Vitest's global set-up: one database server for the whole run, started for the first project that names this file. */
export async function setup(): Promise<() => Promise<void>> {
  if (hasTestPostgres()) return async () => {};
  const server = await startTestPostgres();
  return () => server.stop();
}
