import { createListeners } from "./listeners.ts";

/** What the studio says of itself when it is not ready, and a proxy when it does not reach it. */
const away: ReadonlySet<number> = new Set([502, 503, 504]);

const secondMs = 1_000;
const [firstPauseMs, lastPauseMs, lookLimitMs] = [2 * secondMs, 30 * secondMs, 5 * secondMs];

/** Whether the studio does not answer now, or is without its database or its store. */
export async function isStudioAway(): Promise<boolean> {
  const signal = AbortSignal.timeout(lookLimitMs);
  const answer = await fetch("/api/ready", { cache: "no-store", signal }).catch(() => null);
  return answer === null || away.has(answer.status);
}

/** Resolves after this many ms, or as soon as the browser has a network again. */
function pause(forMs: number): Promise<void> {
  return new Promise((resolve) => {
    const waking = new AbortController();
    const wake = () => {
      clearTimeout(timer);
      waking.abort();
      resolve();
    };
    const timer = setTimeout(wake, forMs);
    if (typeof window !== "undefined") window.addEventListener("online", wake, { signal: waking.signal });
  });
}

/** Tries until an attempt returns true or none is wanted any more, with pauses before each that grow from 2 to 30 s. */
export async function tryAgain(attempt: () => Promise<boolean>, isWanted: () => boolean): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(lastPauseMs, pauseMs * 2)) {
    await pause(pauseMs);
    if (!isWanted() || (await attempt())) return;
  }
}

/** Resolves when the studio answers again, or when that is not wanted any more. */
export const studioIsBack = (isWanted: () => boolean): Promise<void> =>
  tryAgain(async () => !(await isStudioAway()), isWanted);

const listeners = createListeners();
let isOutdated = false;

/** Whether the studio answers and lacks the code of this page, as after an upgrade. Only a reload helps. */
export const outdated = {
  get: (): boolean => isOutdated,
  watch: listeners.watch,
};

/** A part of the page's code could not be loaded: the studio is away, or has another version by now. */
export class CodeMissing extends Error {
  readonly code: "offline" | "outdated";

  constructor(code: "offline" | "outdated", cause: unknown) {
    super("A part of the page could not be loaded.", { cause });
    this.name = "CodeMissing";
    this.code = code;
  }
}

function noteOutdated(): void {
  isOutdated = true;
  listeners.notify();
}

/** Loads a part of the page's code. Throws `CodeMissing`. */
export async function loadCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load();
  } catch (error) {
    if (await isStudioAway()) throw new CodeMissing("offline", error);
  }
  // A studio that was away for a moment has the code, one of another version has not.
  try {
    return await load();
  } catch (error) {
    noteOutdated();
    throw new CodeMissing("outdated", error);
  }
}
