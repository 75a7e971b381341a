import { setTimeout as sleep } from "node:timers/promises";
import { keptBy } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { beginSteps } from "./steps.ts";

/** Jobs end in bursts, and one look is for all of them. */
const lookMs = 200;

interface Looking {
  ask(): void;
  close(): Promise<void>;
}

const lookingOf = keptBy(createLooking, (looking) => looking.close());

function createLooking(services: Services): Looking {
  const closing = new AbortController();
  let next: Promise<void> | null = null;
  async function look(): Promise<void> {
    // A process that closes does not wait, but what it completed goes on.
    await sleep(lookMs, undefined, { signal: closing.signal }).catch(() => undefined);
    next = null;
    await beginSteps(services).catch((error: unknown) => {
      services.log.warn({ err: error }, "steps of batches were not begun, the duty will do it");
    });
  }
  let last = Promise.resolve();
  return {
    ask() {
      if (next !== null) return;
      next = look();
      last = Promise.all([last, next]).then(() => undefined);
    },
    close() {
      closing.abort();
      return last;
    },
  };
}

/** A process that completed a job looks for what is to follow, once for all jobs of a moment. Never throws. */
export function noteCompleted(services: Services): void {
  lookingOf(services).ask();
}
