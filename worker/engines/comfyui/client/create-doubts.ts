import { AppError } from "@atelier/server/platform";
import type { PromptPlace } from "./find-prompt.ts";

/** What was heard of a server when it was asked for a prompt. `stalled`: it takes connections and does not answer them. */
export type Heard = PromptPlace | { readonly state: "away" | "stalled"; readonly error: AppError };

/** Whether a prompt is still there, weighed from one answer of its server to the next. */
export interface Doubts {
  /** Throws when it is lost. `askedMs`: when the server was asked, on the monotonic clock. */
  weigh(heard: Heard, askedMs: number): void;
  /** True until the server says where the prompt is. */
  any(): boolean;
}

type Doubt = "away" | "stalled" | "unknown";

/** What lasts for longer than this is the end of a prompt. */
const mostMs: Readonly<Record<Doubt, number>> = {
  /** A server that cannot be reached is lost; so is its queue, which it keeps in memory. */
  away: 5_000,
  /** While it loads a large model a server may say nothing for a good while. */
  stalled: 30_000,
  /** A prompt that is in neither queue nor history was lost with them. */
  unknown: 1_000,
};

export function createDoubts(): Doubts {
  let doubt: { readonly kind: Doubt; readonly sinceMs: number } | null = null;
  return {
    weigh(heard, askedMs) {
      const kind = doubtIn(heard);
      if (kind === null) {
        doubt = null;
        return;
      }
      // A server that answers again is given the time to read its own queue. One failure alone, however long it took, may
      // be that of this process, which stood still.
      if (doubt?.kind !== kind) {
        doubt = { kind, sinceMs: askedMs };
        return;
      }
      if (performance.now() - doubt.sinceMs > mostMs[kind])
        throw "error" in heard ? heard.error : forgotten();
    },
    any: () => doubt !== null,
  };
}

function doubtIn({ state }: Heard): Doubt | null {
  return state === "away" || state === "stalled" || state === "unknown" ? state : null;
}

function forgotten(): AppError {
  return new AppError("server_lost", "The server was started again and does not know the picture any more.", {
    details: { reason: "forgotten" },
  });
}
