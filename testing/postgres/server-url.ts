/** Carries the address of the run's server from the global set-up to the test processes. */
export const serverUrlName = "ATELIER_TEST_POSTGRES_URL";

export function readServerUrl(): string {
  const url = process.env[serverUrlName];
  if (!url) throw new Error("No test database server runs: call startTestPostgres() first.");
  return url;
}

/** The same server, another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
