import postgres from "postgres";
import {
  connectionCodes,
  connectionError,
  type Address,
  readAddress,
  Session,
  type Statement,
} from "./session.ts";

export interface PoolOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly maxConnections: number;
  readonly isPooled: boolean;
  /** Called when an idle session is lost; a later statement opens another one. */
  readonly onError: (error: Error) => void;
}

/** A statement or transaction that waits for a session. */
interface Waiter {
  take(session: Session): void;
  fail(error: Error): void;
}

/** How long a statement or a transaction waits for a session. */
const waitMs = 5_000;
/** Several come from one look at a page; each keeps a process of the server, of 3 to 5 MiB. */
const idleMs = 15_000;

/** A session that nobody uses. */
interface Idle {
  readonly timer: NodeJS.Timeout;
  /** By the clock of the day, which goes on while the process is frozen: the server may have left meanwhile. */
  readonly since: number;
}

/** System code of the error after this wait; temporary for `isDatabaseAway`. */
const awayCode = "ECONNABORTED";

/** The server's answer to a prepared statement whose columns have changed. */
const invalidPlan = { code: "0A000", routine: "RevalidateCachedQuery" } as const;

function isPlanInvalid(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (!(cause instanceof postgres.PostgresError)) return false;
  return cause.code === invalidPlan.code && cause.routine === invalidPlan.routine;
}

/**
 * Sessions of one database. Each session runs one statement or transaction at a time: on a shared session a
 * statement would also wait for the locks of the statement before it.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #address: Address;
  readonly #idle = new Map<Session, Idle>();
  readonly #waiting = new Set<Waiter>();
  readonly #ending = new Set<Promise<void>>();
  readonly #allBack = Promise.withResolvers<void>();
  #lentCount = 0;
  #isClosing = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#address = readAddress(options);
  }

  run(statement: Statement): Promise<readonly unknown[]> {
    return this.#use((session) => session.run(statement));
  }

  /**
   * Runs `work` between `begin` and `commit`; after any error nothing is stored. `work` runs a second time
   * when a migration has changed the columns of one of its prepared statements.
   */
  async transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#use((session) =>
      inTransaction(session, work).catch((error: unknown) => {
        if (!isPlanInvalid(error)) throw error;
        return inTransaction(session, work);
      }),
    );
  }

  /** Waits for the current work, then ends all sessions. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const waiter of this.#waiting) waiter.fail(endedError());
    for (const session of this.#idle.keys()) this.#end(session);
    if (this.#lentCount > 0) await this.#allBack.promise;
    await Promise.all(this.#ending);
  }

  async #use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    if (this.#isClosing) throw endedError();
    const session = this.#lend() ?? (await this.#waitForSession());
    try {
      return await work(session);
    } finally {
      this.#takeBack(session);
    }
  }

  #lend(): Session | null {
    const session =
      this.#takeIdle() ?? (this.#lentCount < this.#options.maxConnections ? this.#open() : null);
    if (session) this.#lentCount += 1;
    return session;
  }

  /** The most recently used session, so that sessions that are not needed become idle and end. */
  #takeIdle(): Session | null {
    for (;;) {
      const session = [...this.#idle.keys()].at(-1);
      if (!session) return null;
      const since = this.#idle.get(session)?.since ?? 0;
      this.#forget(session);
      if (session.isUsable && Date.now() - since < idleMs) return session;
      this.#end(session);
    }
  }

  #open(): Session {
    return new Session(this.#address, (session) => {
      const wasIdle = this.#forget(session);
      if (wasIdle)
        this.#options.onError(connectionError(connectionCodes.closed, "An idle connection was lost."));
    });
  }

  #waitForSession(): Promise<Session> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiter.fail(connectionError(awayCode, "No connection to the database became free in time."));
      }, waitMs);
      const leave = () => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
      };
      const waiter: Waiter = {
        take(session) {
          leave();
          resolve(session);
        },
        fail(error) {
          leave();
          reject(error);
        },
      };
      this.#waiting.add(waiter);
    });
  }

  #takeBack(session: Session): void {
    this.#lentCount -= 1;
    // Idle ones were begun with the same server, and reads would go on there unnoticed.
    if (session.isOfCopy) for (const idle of this.#idle.keys()) this.#end(idle);
    if (!session.isUsable || this.#isClosing) this.#end(session);
    else this.#keep(session);
    const [waiter] = this.#waiting;
    const next = waiter && this.#lend();
    if (next) waiter.take(next);
    if (this.#isClosing && this.#lentCount === 0) this.#allBack.resolve();
  }

  #keep(session: Session): void {
    const timer = setTimeout(() => this.#end(session), idleMs).unref();
    this.#idle.set(session, { timer, since: Date.now() });
  }

  /** False when the session was not idle. */
  #forget(session: Session): boolean {
    clearTimeout(this.#idle.get(session)?.timer);
    return this.#idle.delete(session);
  }

  #end(session: Session): void {
    this.#forget(session);
    const ended = session.end().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}

function endedError(): Error {
  return connectionError(connectionCodes.ended, "The connections to the database are closed.");
}

async function inTransaction<T>(session: Session, work: (session: Session) => Promise<T>): Promise<T> {
  await session.command("begin");
  try {
    const result = await work(session);
    await session.command("commit");
    return result;
  } catch (error) {
    // The server rolls back the transaction of a lost session.
    if (session.isUsable) await session.command("rollback").catch(() => undefined);
    throw error;
  }
}
