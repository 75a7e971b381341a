import { tracingChannel } from "node:diagnostics_channel";
import { connect, isIP, type Socket } from "node:net";
import { parseIntoClientConfig } from "pg-connection-string";
import postgres from "postgres";
import { wireTypes } from "./wire-types.ts";

/** Codes of the driver for a connection that ended or was not made in time. */
export const connectionCodes = {
  closed: "CONNECTION_CLOSED",
  destroyed: "CONNECTION_DESTROYED",
  ended: "CONNECTION_ENDED",
  timedOut: "CONNECT_TIMEOUT",
} as const;

export function connectionError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

const closedError = () =>
  connectionError(connectionCodes.closed, "The connection to the database is closed.");

/** Sent with the start of each connection, or with each transaction where a pooler refuses them. */
export const sessionLimits = {
  idle_in_transaction_session_timeout: 15_000,
  statement_timeout: 30_000,
} as const;

/** How times are written, whatever the database or the role is set to. Poolers know both and pass them on. */
const forms = { DateStyle: "ISO", TimeZone: "UTC" } as const;

/** The locks of the statements are made for this level. */
const level = "isolation level read committed";

/**
 * Puts `public`, where the tables are, first in the search path: a role's own schema may stand before it, or the path may
 * lack it. An empty path is left out.
 */
export const findTables = `select set_config('search_path',
  concat_ws(', ', 'public', substring(current_setting('search_path') from '[^[:space:]].*')), false)`;

/** Lifts the limits that an operator gave to a role or a database, for work that takes as long as it takes. Only PostgreSQL 17 has the second. */
export const liftLimits = (isLocal: boolean) =>
  `select set_config(name, '0', ${isLocal}) from pg_settings where name in ('statement_timeout', 'transaction_timeout')`;

const firstStatement = `set session characteristics as transaction ${level}; ${findTables}`;

/** A pooler gives the session to others after the transaction, so what is set ends with it. */
const beginPooled = Object.entries(sessionLimits).reduce(
  (text, [name, limitMs]) => `${text}; set local ${name} = ${limitMs}`,
  `begin ${level}`,
);

export interface Statement {
  readonly text: string;
  readonly params: readonly unknown[];
  /** Rows as objects by column name, or as arrays of values in the order of the columns. */
  readonly shape: "objects" | "arrays";
}

/** Statements that this process sends, as `tracePromise` publishes them; for measurements only. */
const sentStatements = tracingChannel<unknown, Statement>("atelier:statement");

const connectSeconds = 5;
const keepAliveSeconds = 60;

/**
 * How much later than its limit a statement is answered at most. Then the server or the line is dead: TCP itself waits
 * for a quarter of an hour.
 */
const lateMs = 5_000;

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The milliseconds of a limit as PostgreSQL reads it; null when there is none. */
function readLimit(limit: string): number | null {
  const [, count = "", unit = "ms"] = /^\s*(\d+)\s*([a-z]*)/.exec(limit) ?? [];
  const ms = Number(count) * (unitsMs[unit || "ms"] ?? 0);
  return ms > 0 ? ms : null;
}

/**
 * Limit for prepared statements: a plan costs the server up to 100 kB, and bulk writes with more parameters rarely
 * repeat.
 */
const maxPrepared = 256;
const maxPreparedParams = 32;

interface AddressOptions {
  readonly url: string;
  readonly applicationName: string;
  /** A pooler in transaction mode: it refuses the limits, and has no prepared statements. */
  readonly isPooled: boolean;
}

/** Reads an address as `pg` reads it for the queue, so that both drivers find the same server in the same way. */
export function readAddress({ url, applicationName, isPooled }: AddressOptions) {
  const {
    host = "localhost",
    port = 5432,
    user,
    password,
    database,
    ssl,
    ...others
  } = parseIntoClientConfig(url);
  const limits = isPooled ? {} : sessionLimits;
  const given = pickParameters(others);
  const parameters = { application_name: applicationName, ...forms, ...limits, ...given };
  const { statement_timeout: limit } = { ...sessionLimits, ...given };
  const prepare = new URL(url).searchParams.get("prepare");
  return {
    target: host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
    login: {
      host,
      port,
      ...(user ? { user } : {}),
      ...(password === undefined ? {} : { pass: password }),
      ...(database ? { database } : {}),
      ssl: ssl ? { host, ...(isIP(host) ? {} : { servername: host }), ...(ssl === true ? {} : ssl) } : false,
      connection: parameters,
    },
    isPooled,
    statementMs: readLimit(String(limit)),
    mayPrepare: isPooled ? prepare === "true" : prepare !== "false",
  };
}

export type Address = ReturnType<typeof readAddress>;

const parametersOfAddress = ["application_name", "options", ...Object.keys(sessionLimits)];

function pickParameters(config: object): Record<string, string> {
  const given = Object.entries(config).filter(
    ([name, value]) => parametersOfAddress.includes(name) && value !== undefined,
  );
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** SQLSTATE of a write to a read-only database. */
export const readOnlyState = "25006";

/**
 * After a failover the address may lead to the new primary while a session still is one of the old one, which takes no writes any
 * more.
 */
const isOfCopy = (error: unknown) => error instanceof postgres.PostgresError && error.code === readOnlyState;

/** Whether this error ends the session: true unless it is the server's answer to a statement. */
function isEndOfSession(error: unknown): boolean {
  return !(error instanceof postgres.PostgresError) || error.severity !== "ERROR" || isOfCopy(error);
}

/**
 * One session of the database: a client of postgres.js with one socket. A lost session stays lost, since postgres.js
 * would connect again in the middle of a transaction; the pool opens another session.
 */
export class Session {
  readonly #sql: postgres.Sql;
  readonly #prepared = new Set<string>();
  readonly #mayPrepare: boolean;
  readonly #begin: string;
  readonly #silentMs: number | null;
  #socket: Socket | null = null;
  #isLost = false;
  #isOfCopy = false;
  /** That the session is as the statements need it. */
  #ready: Promise<void> | null;
  /** Statements under way, and those that were. */
  #open = 0;
  #answered = 0;
  #silence: NodeJS.Timeout | undefined;

  /** Connects with the first statement. `onLost` is called once the socket is closed. */
  constructor(
    { target, login, isPooled, mayPrepare, statementMs }: Address,
    onLost: (self: Session) => void,
  ) {
    this.#mayPrepare = mayPrepare;
    this.#begin = isPooled ? beginPooled : "begin";
    this.#ready = isPooled ? Promise.resolve() : null;
    this.#silentMs = statementMs === null ? null : statementMs + lateMs;
    const options = {
      ...login,
      max: 1,
      connect_timeout: connectSeconds,
      keep_alive: keepAliveSeconds,
      max_lifetime: null,
      fetch_types: false,
      types: wireTypes,
      transform: { undefined: null },
      onnotice: () => undefined,
      onclose: () => {
        this.#isLost = true;
        onLost(this);
      },
      socket: () => {
        if (this.#socket) throw closedError();
        this.#socket = connect({ ...target, noDelay: true });
        return this.#socket;
      },
    };
    this.#sql = postgres(options);
  }

  get isUsable(): boolean {
    return !this.#isLost && this.#socket?.destroyed !== true;
  }

  /** Its server refused a write. */
  get isOfCopy(): boolean {
    return this.#isOfCopy;
  }

  /** Statements of one session run in the order of the calls; a call does not wait for the previous answer. */
  run(statement: Statement): Promise<readonly unknown[]> {
    if (!sentStatements.hasSubscribers) return this.#run(statement);
    return sentStatements.tracePromise(() => this.#run(statement), statement);
  }

  async command(text: "begin" | "commit" | "rollback"): Promise<void> {
    await this.run({ text: text === "begin" ? this.#begin : text, params: [], shape: "objects" });
  }

  async #run({ text, params, shape }: Statement): Promise<readonly unknown[]> {
    if (!this.isUsable) throw closedError();
    this.#open += 1;
    this.#waitForAnswer();
    try {
      await (this.#ready ??= this.#prepare());
      // Safe: the driver sends parameters of all types as text.
      const query = this.#sql.unsafe(text, params as never[], { prepare: this.#isPrepared(text, params) });
      return await (shape === "arrays" ? query.values() : query);
    } catch (error) {
      this.#isLost ||= isEndOfSession(error);
      this.#isOfCopy ||= isOfCopy(error);
      throw error;
    } finally {
      this.#open -= 1;
      this.#answered += 1;
      this.#waitForAnswer();
    }
  }

  async #prepare(): Promise<void> {
    try {
      await this.#sql.unsafe(firstStatement);
    } catch (error) {
      this.#isLost = true;
      throw error;
    }
  }

  /** Gives the session up when no statement under way is answered in time. */
  #waitForAnswer(): void {
    clearTimeout(this.#silence);
    if (this.#open === 0 || this.#silentMs === null) return;
    const before = this.#answered;
    const giveUp = () => {
      if (this.#answered !== before || this.#open === 0) return;
      this.#isLost = true;
      this.#socket?.destroy();
    };
    // What arrived while the process was frozen or busy is read first.
    this.#silence = setTimeout(() => setImmediate(giveUp), this.#silentMs).unref();
  }

  #isPrepared(text: string, params: readonly unknown[]): boolean {
    if (!this.#mayPrepare || params.length > maxPreparedParams) return false;
    if (this.#prepared.size < maxPrepared) this.#prepared.add(text);
    return this.#prepared.has(text);
  }

  /** Ends the session; does not wait for a server that does not answer. */
  async end(): Promise<void> {
    await this.#sql.end({ timeout: this.isUsable ? connectSeconds : 0 });
    this.#socket?.destroy();
  }
}
