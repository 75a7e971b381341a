import pg from "pg";

/** Holds all sessions that a database has to give. */
export interface Hoard {
  free(): Promise<void>;
}

const tooManyConnections = "53300";

/** Who comes back at once is beaten by a crowd. */
const crowd = 8;

/** Takes every session of the database, those of the product's processes too, which are ended for it. */
export async function takeAllSessions(url: string): Promise<Hoard> {
  const held: pg.Client[] = [];
  const free = async () => {
    await Promise.all(held.map((client) => client.end()));
  };
  const takeSeveral = () => Promise.all(Array.from({ length: crowd }, () => takeOne(url, held)));
  for (;;) {
    while ((await takeSeveral()).includes(true));
    const ended = await held[0]?.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name <> 'hoard' and backend_type = 'client backend'",
    );
    if (ended?.rows.length === 0) return { free };
  }
}

/** False when there is none left. */
async function takeOne(url: string, held: pg.Client[]): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: "hoard" });
  client.on("error", () => undefined);
  try {
    await client.connect();
    held.push(client);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === tooManyConnections) return false;
    throw error;
  }
}
