import { pruneTalks } from "@atelier/server/assistant";
import type { Services } from "@atelier/server/services";
import { type Loop, startLoop } from "./loop.ts";

/** How often a worker looks whether the archivist is due; one of the installation then works. */
const lookMs = 60_000;
const pruneMs = 6 * 3_600_000;

/** Makes memories of ended talks at their times, and removes what is older than it is kept. */
export function startArchivist(services: Services): Pick<Loop, "stop"> {
  const stopped = new AbortController();
  let pruneAtMs = 0;
  let isFirst = true;
  const loop = startLoop(services.log, "archivist", async () => {
    // Not at the start of a worker, which has better things to do then.
    if (isFirst) {
      isFirst = false;
      return lookMs;
    }
    const { archive } = await import("@atelier/server/assistant/stages");
    const made = await archive(services, { signal: stopped.signal, isForced: false });
    if (made && made.parts > 0) services.log.info(made, "talks were archived");
    if (performance.now() > pruneAtMs) {
      await pruneTalks(services);
      pruneAtMs = performance.now() + pruneMs;
    }
    return lookMs;
  });
  return {
    async stop() {
      stopped.abort(new Error("the process stops"));
      await loop.stop();
    },
  };
}
