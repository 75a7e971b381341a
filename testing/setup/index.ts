import { startTestPostgres } from "../postgres/servers.ts";

/** Vitest's global set-up: one database server for the whole run. */
export async function setup(): Promise<() => Promise<void>> {
  const server = await startTestPostgres();
  return () => server.stop();
}
