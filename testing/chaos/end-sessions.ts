import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "@atelier/server/services";
import pg from "pg";

/** Two a second, as F17 says. */
const betweenMs = 500;

/** Sessions of a database that are being ended. */
export interface EndedSessions {
  /** How many so far. */
  count(): number;
  /** How many in all, once it is over. */
  readonly total: Promise<number>;
}

/** Ends one session of the database after another, whoever holds it, until `over`. */
export function endSessions({ env }: Pick<Services, "env">, over: AbortSignal): EndedSessions {
  let ended = 0;
  const run = async () => {
    const admin = new pg.Client({ connectionString: env.DATABASE_URL, application_name: "test admin" });
    // The test may stop the database under it.
    admin.on("error", () => undefined);
    await admin.connect();
    while (!over.aborted) {
      const answer = await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() order by random() limit 1`,
      );
      ended += answer.rows.length;
      await sleep(betweenMs, undefined, { signal: over }).catch(() => undefined);
    }
    await admin.end();
    return ended;
  };
  return { count: () => ended, total: run() };
}
