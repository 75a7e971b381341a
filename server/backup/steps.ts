import { Transform } from "node:stream";
import { AppError } from "../platform/index.ts";

/** A step may pass this long without a byte or a picture. */
const stillMs = 10 * 60_000;
/** The database checks rows and builds indexes without a sign of progress, which takes hours for many rows. */
const databaseMs = 6 * 60 * 60_000;

/** The steps of a backup or a restore, each with a limit for standing still. */
export interface Steps {
  /** Aborted by the caller, and when a step stands still. */
  readonly signal: AbortSignal;
  /** Begins a step; its name is read by people. */
  enter(step: string, worker?: "here" | "database"): void;
  /** The step under way goes on. */
  moved(): void;
}

export interface StepLimits {
  readonly signal: AbortSignal;
  /** For tests: how long a step may stand still. */
  readonly stillMs?: number;
}

/**
 * Runs `work` and ends it with `internal` when one of its steps stands still, whatever that step waits for. The message
 * names the step.
 */
export async function inSteps<T>(limits: StepLimits, work: (steps: Steps) => Promise<T>): Promise<T> {
  const stalled = new AbortController();
  let step = "the start";
  let limitMs = limits.stillMs ?? stillMs;
  const giveUp = () => {
    const minutes = Math.max(1, Math.round(limitMs / 60_000));
    const message = `Ended, because this step stood still for ${minutes} minutes: ${step}.`;
    stalled.abort(new AppError("internal", message));
  };
  let timer = setTimeout(giveUp, limitMs);
  const steps: Steps = {
    signal: AbortSignal.any([limits.signal, stalled.signal]),
    enter(name, worker = "here") {
      step = name;
      limitMs = worker === "database" ? databaseMs : (limits.stillMs ?? stillMs);
      clearTimeout(timer);
      timer = setTimeout(giveUp, limitMs);
    },
    moved: () => void timer.refresh(),
  };
  try {
    // What ignores the signal, as a folder of a server that is gone, must not keep the program.
    return await Promise.race([work(steps), rejection(stalled.signal)]);
  } finally {
    clearTimeout(timer);
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/** Passes bytes on and notes each piece as progress. */
export function progressOf(steps: Pick<Steps, "moved">): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      steps.moved();
      done(null, chunk);
    },
  });
}
