import { DrizzleQueryError } from "drizzle-orm";
import type { Services } from "../services.ts";
import { endTurn, readWaits, renewTurn, takeTurn, type Turn } from "./turns.ts";

/** Recurring work of the studio that one process does at a time. */
export interface Duty {
  /** Of its turn; shown to admins. */
  readonly name: string;
  readonly everyMs: number;
  /** Pause after a failure, ms; `everyMs` unless given. */
  readonly retryMs?: number;
  /** Whether this process can do it. */
  readonly mayRun?: (services: Services) => Promise<boolean>;
  readonly run: (services: Services) => Promise<unknown>;
}

/** A process that dies during a duty holds it up for this long. */
const holdMs = 60_000;
const renewMs = holdMs / 3;
/** A duty that another process does is looked at again after this. */
const shortestPauseMs = 1_000;

interface PassOptions {
  readonly signal?: AbortSignal;
  /** Does all of them now, due or not. */
  readonly isForced?: boolean;
}

/**
 * Does the duties that are due in the studio, one after the other, and returns the pause until the next one is, in ms. A duty
 * that fails is logged, keeps its error in its turn and rests; the others go on. Stops between two duties when the signal
 * aborts.
 */
export async function doDuties(
  services: Services,
  duties: readonly Duty[],
  { signal, isForced = false }: PassOptions = {},
): Promise<number> {
  const waits = await readWaits(
    services,
    duties.map(({ name }) => name),
  );
  let pauseMs = Math.min(...duties.map(({ everyMs }) => everyMs));
  for (const duty of duties) {
    if (signal?.aborted) break;
    const waitMs = isForced ? 0 : (waits.get(duty.name) ?? 0);
    if (waitMs > 0) pauseMs = Math.min(pauseMs, waitMs);
    else await doDuty(services, duty, isForced);
  }
  return Math.max(pauseMs, shortestPauseMs);
}

async function doDuty(services: Services, duty: Duty, isForced: boolean): Promise<void> {
  const { name, everyMs, retryMs = everyMs } = duty;
  if (duty.mayRun && !(await duty.mayRun(services))) return;
  const turn = await takeTurn(services, { name, holdMs, isForced });
  if (!turn) return;
  const renewing = setInterval(() => void keep(services, turn), renewMs);
  let error: string | null = null;
  try {
    await duty.run(services);
  } catch (failure) {
    services.log.warn({ err: failure, duty: name }, "a duty failed, it is tried again after its pause");
    error = textOf(failure);
  } finally {
    clearInterval(renewing);
  }
  await endTurn(services, turn, { waitMs: error === null ? everyMs : retryMs, error });
}

async function keep(services: Services, turn: Turn): Promise<void> {
  await renewTurn(services, turn, holdMs).catch((error: unknown) => {
    services.log.debug({ err: error, duty: turn.name }, "the turn of a duty was not renewed");
  });
}

const maxTextLength = 300;

/** For admins: without the statement and its values, which a failed query names. */
function textOf(failure: unknown): string {
  const error = failure instanceof DrizzleQueryError ? (failure.cause ?? failure.name) : failure;
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, maxTextLength);
}
