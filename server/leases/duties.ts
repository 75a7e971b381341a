import { DrizzleQueryError } from "drizzle-orm";
import { orAborted, storableText } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { whileHeld } from "./lease.ts";
import { endTurn, readTurnWaits, renewMs, renewTurn, takeTurn, type Turn, type TurnEnd } from "./turns.ts";

type Input = Pick<Services, "db" | "log">;

interface TurnInput {
  readonly name: string;
  /** Pause after the work was done, ms. */
  readonly everyMs: number;
  /** Pause after a failure, ms; `everyMs` unless given. */
  readonly retryMs?: number;
  /** The pause doubles with each failure in a row, up to this, ms; it stays the same unless given. */
  readonly mostRetryMs?: number;
  /** Takes the turn also before it is due. */
  readonly isForced?: boolean;
  /** Asked after the work: false when it did not come to what may fail, so that the failures before it still count. */
  readonly hasTried?: () => boolean;
  /** On abort the turn is given back, neither done nor failed. */
  readonly signal?: AbortSignal;
}

/**
 * Does work in its turn, and stores how it ended; null when the turn is not due or another process has it. Rejects with the
 * error of the work. Work that pays for something calls `renewTurn` before each payment, since a frozen process loses its turn.
 */
export async function inTurn<T>(
  services: Input,
  input: TurnInput,
  work: (turn: Turn) => Promise<T>,
): Promise<T | null> {
  const { everyMs, retryMs = everyMs, mostRetryMs, hasTried = () => true, signal } = input;
  const turn = await takeTurn(services, input);
  if (!turn) return null;
  const renewal = { name: turn.name, everyMs: renewMs, renew: () => renewTurn(services, turn) };
  let end: TurnEnd = { waitMs: 0, isDone: false };
  try {
    const result = await whileHeld(services, renewal, () => work(turn));
    if (!signal?.aborted) end = { waitMs: everyMs, isDone: true, keepsFailures: !hasTried() };
    return result;
  } catch (error) {
    const growing = mostRetryMs === undefined ? {} : { mostWaitMs: mostRetryMs };
    if (!signal?.aborted) end = { waitMs: retryMs, isDone: false, error: textOf(error), ...growing };
    throw error;
  } finally {
    await endTurn(services, turn, end).catch((error: unknown) => {
      services.log.warn({ err: error, turn: turn.name }, "a turn was not ended, it ends by its time");
    });
  }
}

const maxTextLength = 300;

/** For admins: without the statement and its values, which a failed query names. */
function textOf(failure: unknown): string {
  const error = failure instanceof DrizzleQueryError ? (failure.cause ?? failure.name) : failure;
  const text = error instanceof Error ? error.message : String(error);
  return storableText(text.slice(0, maxTextLength));
}

/** Recurring work of the studio that one process does at a time. */
export interface Duty extends Pick<TurnInput, "everyMs" | "retryMs"> {
  /** Of its turn; shown to admins. */
  readonly name: string;
  /** Whether this process can do it. */
  readonly mayRun?: (services: Services) => Promise<boolean>;
  /** Work that takes long ends between two of its steps when the signal aborts: at a stop of the process, and after `mostMs`. */
  readonly run: (services: Services, signal: AbortSignal) => Promise<unknown>;
  /** After this time it has failed and lets its turn go, ms; ten minutes unless given. */
  readonly mostMs?: number;
}

const shortestPauseMs = 1_000;
const usualMostMs = 10 * 60_000;

/**
 * Does the duties that are due in the studio, one after the other, and returns the pause until the next one is, in ms. A duty
 * that fails or hangs is logged, keeps its error in its turn and rests; the others go on. When the signal aborts, the one that
 * runs is waited for no longer and its turn is given back.
 */
export async function doDuties(
  services: Services,
  duties: readonly Duty[],
  { signal }: Pick<TurnInput, "signal"> = {},
): Promise<number> {
  const names = duties.map(({ name }) => name);
  const waits = await readTurnWaits(services, names);
  for (const duty of duties) {
    if (signal?.aborted) break;
    if (!waits.has(duty.name)) await doDuty(services, duty, signal);
  }
  const pauses = [...waits.values(), ...duties.map(({ everyMs }) => everyMs)];
  return Math.max(shortestPauseMs, Math.min(...pauses));
}

async function doDuty(services: Services, duty: Duty, signal: AbortSignal | undefined): Promise<void> {
  try {
    if (duty.mayRun && !(await duty.mayRun(services))) return;
    await inTurn(services, { ...duty, ...(signal ? { signal } : {}) }, () =>
      runBounded(services, duty, signal),
    );
  } catch (error) {
    if (signal?.aborted) return;
    services.log.warn({ err: error, duty: duty.name }, "a duty failed, it is tried again after its pause");
  }
}

/** Runs a duty until it has ended, its time is over or the process stops, whichever comes first. */
async function runBounded(services: Services, duty: Duty, stop: AbortSignal | undefined): Promise<void> {
  const { mostMs = usualMostMs } = duty;
  const over = new AbortController();
  const seconds = Math.round(mostMs / 1_000);
  const timer = setTimeout(() => over.abort(new Error(`It did not end within ${seconds} s.`)), mostMs);
  const signal = stop ? AbortSignal.any([stop, over.signal]) : over.signal;
  await orAborted(duty.run(services, signal), signal).finally(() => clearTimeout(timer));
}
