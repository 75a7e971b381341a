import pg from "pg";

type Callback = Parameters<pg.Pool["connect"]>[0];

/** A system's code for what the driver says in words alone; `isDatabaseAway` knows it. */
const awayCode = "ECONNABORTED";

/** A pool that survives absences of the database without losing places, and says that it was an absence. */
export class LastingPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | void {
    if (callback) return super.connect(callback);
    return super.connect().then(returnWhenCut, failAsAway);
  }
}

/** Timeouts of a connect are bare errors, which could be anybody's. */
function failAsAway(error: unknown): never {
  if (error instanceof Error && !("code" in error)) throw Object.assign(error, { code: awayCode });
  throw error;
}

/** A transaction whose `begin` fails never releases its client, so a cut connection gives its place back itself. */
function returnWhenCut(client: pg.PoolClient): pg.PoolClient {
  const giveBack = client.release.bind(client);
  let isGivenBack = false;
  const release = (error?: Error | boolean) => {
    if (isGivenBack) return;
    isGivenBack = true;
    client.off("end", onEnd);
    giveBack(error);
  };
  const onEnd = () => release(true);
  client.once("end", onEnd);
  client.release = release;
  return client;
}
