import { Redis } from "ioredis";
import pg from "pg";

export interface Calls {
  readonly sql: number;
  readonly redis: number;
}

/** Counts SQL statements and Redis commands that this process sends while `work` runs; both are one round trip each. */
export async function countCalls(work: () => Promise<void>): Promise<Calls> {
  const calls = { sql: 0, redis: 0 };
  const query: unknown = Reflect.get(pg.Client.prototype, "query");
  const send: unknown = Reflect.get(Redis.prototype, "sendCommand");
  if (typeof query !== "function" || typeof send !== "function") throw new Error("the clients have changed");
  Reflect.set(pg.Client.prototype, "query", function counted(this: pg.Client, ...args: unknown[]): unknown {
    calls.sql += 1;
    return Reflect.apply(query, this, args);
  });
  Reflect.set(Redis.prototype, "sendCommand", function counted(this: Redis, ...args: unknown[]): unknown {
    calls.redis += 1;
    return Reflect.apply(send, this, args);
  });
  try {
    await work();
  } finally {
    Reflect.set(pg.Client.prototype, "query", query);
    Reflect.set(Redis.prototype, "sendCommand", send);
  }
  return calls;
}
