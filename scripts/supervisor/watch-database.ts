import { setTimeout as sleep } from "node:timers/promises";
import type { EmbeddedPostgres } from "../embedded/postgres.ts";
import { isStartError } from "../embedded/start-error.ts";
import { nextDelayMs, type Backoff } from "./backoff.ts";

const lookMs = 1_000;

/** Looks each second whether the embedded database still runs and starts it again, until `isOver`. */
export async function watchDatabase(
  database: EmbeddedPostgres,
  options: { backoff: Backoff; say: (line: string) => void; isOver: () => boolean },
): Promise<void> {
  let delayMs = 0;
  while (!options.isOver()) {
    await sleep(lookMs, undefined, { ref: false });
    if (options.isOver() || database.isRunning()) continue;
    options.say("The database has died; starting it again");
    try {
      await database.revive();
      delayMs = 0;
      options.say("The database runs again");
    } catch (error) {
      if (!isStartError(error)) throw error;
      delayMs = nextDelayMs(options.backoff, delayMs, 0);
      options.say(`${error.message} Next try in ${delayMs / 1000} s`);
      await sleep(delayMs, undefined, { ref: false });
    }
  }
}
