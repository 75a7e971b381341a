import { tracingChannel } from "node:diagnostics_channel";
import pg from "pg";

/** How the driver of the product publishes its statements. */
const sentStatements = tracingChannel<unknown, object>("atelier:statement");
const nothing = () => undefined;

/**
 * Counts the statements that this process sends while `work` runs, each one round trip: those of the product's driver,
 * and those of `pg`, which the bells and the hints use.
 */
export async function countStatements(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const start = () => void (count += 1);
  const subscriber = { start, end: nothing, asyncStart: nothing, asyncEnd: nothing, error: nothing };
  const query: unknown = Reflect.get(pg.Client.prototype, "query");
  if (typeof query !== "function") throw new Error("the client has changed");
  Reflect.set(pg.Client.prototype, "query", function counted(this: pg.Client, ...args: unknown[]): unknown {
    count += 1;
    return Reflect.apply(query, this, args);
  });
  sentStatements.subscribe(subscriber);
  try {
    await work();
  } finally {
    sentStatements.unsubscribe(subscriber);
    Reflect.set(pg.Client.prototype, "query", query);
  }
  return count;
}
