import { AppError, isAppError } from "../platform/index.ts";
import type { PromptPlace } from "./find-prompt.ts";

/** A server that does not answer for this long is lost; so is its queue, which it keeps in memory. */
const lostMs = 5_000;
/** A prompt that is in neither queue nor history for this long was lost with them. */
const forgottenMs = 1_000;

/** Whether a prompt is still there, weighed from one answer of its server to the next. */
export interface Doubts {
  /** Throws when it is lost. `askedMs`: when the server was asked, on the monotonic clock. */
  weigh(place: PromptPlace | AppError, askedMs: number): void;
  /** True until the server says where the prompt is. */
  any(): boolean;
}

export function createDoubts(): Doubts {
  let sinceMs: number | null = null;
  let isSilent = false;
  return {
    weigh(place, askedMs) {
      const hasFailed = isAppError(place);
      if (!hasFailed && place.state !== "unknown") {
        sinceMs = null;
        return;
      }
      // A server that answers again is given the time to read its own queue.
      if (sinceMs === null || isSilent !== hasFailed) sinceMs = askedMs;
      isSilent = hasFailed;
      const lastsMs = performance.now() - sinceMs;
      if (hasFailed && lastsMs > lostMs) throw place;
      if (!hasFailed && lastsMs > forgottenMs) throw forgotten();
    },
    any: () => sinceMs !== null,
  };
}

function forgotten(): AppError {
  return new AppError("server_lost", "The server was started again and does not know the picture any more.", {
    details: { reason: "forgotten" },
  });
}
