/** Runs a query in a database. */
type Read = (query: string) => Promise<readonly unknown[]>;

/** How many processes of the studio are connected to the database, beside the one that asks. */
export async function countProcesses(read: Read): Promise<number> {
  const sessions = await read(
    "select from pg_stat_activity where datname = current_database() and application_name like 'atelier %' and pid <> pg_backend_pid()",
  );
  return sessions.length;
}
