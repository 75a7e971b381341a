import { DrizzleQueryError } from "drizzle-orm";
import { storableText } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { endTurn, readTurnWaits, renewMs, renewTurn, takeTurn, type Turn, type TurnEnd } from "./turns.ts";

type Input = Pick<Services, "db" | "log">;

interface TurnInput {
  readonly name: string;
  /** Pause after the work was done, ms. */
  readonly everyMs: number;
  /** Pause after a failure, ms; `everyMs` unless given. */
  readonly retryMs?: number;
  /** Takes the turn also before it is due. */
  readonly isForced?: boolean;
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
  const { everyMs, retryMs = everyMs, signal } = input;
  const turn = await takeTurn(services, input);
  if (!turn) return null;
  const renewing = setInterval(() => void keep(services, turn), renewMs);
  let end: TurnEnd = { waitMs: 0, isDone: false };
  try {
    const result = await work(turn);
    if (!signal?.aborted) end = { waitMs: everyMs, isDone: true };
    return result;
  } catch (error) {
    if (!signal?.aborted) end = { waitMs: retryMs, isDone: false, error: textOf(error) };
    throw error;
  } finally {
    clearInterval(renewing);
    await endTurn(services, turn, end).catch((error: unknown) => {
      services.log.warn({ err: error, turn: turn.name }, "a turn was not ended, it ends by its time");
    });
  }
}

async function keep(services: Input, turn: Turn): Promise<void> {
  await renewTurn(services, turn).catch((error: unknown) => {
    services.log.debug({ err: error, turn: turn.name }, "a turn was not renewed");
  });
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
  readonly run: (services: Services) => Promise<unknown>;
}

const shortestPauseMs = 1_000;

/**
 * Does the duties that are due in the studio, one after the other, and returns the pause until the next one is, in ms. A duty
 * that fails is logged, keeps its error in its turn and rests; the others go on. Stops between two duties when the signal
 * aborts.
 */
export async function doDuties(
  services: Services,
  duties: readonly Duty[],
  { signal, isForced = false }: Pick<TurnInput, "signal" | "isForced"> = {},
): Promise<number> {
  const names = duties.map(({ name }) => name);
  const waits = isForced ? new Map<string, number>() : await readTurnWaits(services, names);
  for (const duty of duties) {
    if (signal?.aborted) break;
    if (!waits.has(duty.name)) await doDuty(services, duty, isForced);
  }
  const pauses = [...waits.values(), ...duties.map(({ everyMs }) => everyMs)];
  return Math.max(shortestPauseMs, Math.min(...pauses));
}

async function doDuty(services: Services, duty: Duty, isForced: boolean): Promise<void> {
  try {
    if (duty.mayRun && !(await duty.mayRun(services))) return;
    await inTurn(services, { ...duty, isForced }, () => duty.run(services));
  } catch (error) {
    services.log.warn({ err: error, duty: duty.name }, "a duty failed, it is tried again after its pause");
  }
}
