import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** A statement as it was sent, and how long its answer took. */
export interface SentStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly ms: number;
}

const quietMs = 15;

/**
 * Runs `work` and gives back the statements that this process sent meanwhile, in the order of their sending, those of
 * what `work` left running included: it waits until nothing was under way for a moment.
 */
export async function recordStatements(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: { text: string; values: readonly unknown[]; ms: number | null }[] = [];
  const query: unknown = Reflect.get(pg.Client.prototype, "query");
  if (typeof query !== "function") throw new Error("the client has changed");
  Reflect.set(pg.Client.prototype, "query", function timed(this: pg.Client, ...args: unknown[]): unknown {
    const beganMs = performance.now();
    const statement = { ...partsOf(args), ms: null as number | null };
    sent.push(statement);
    const note = () => void (statement.ms = performance.now() - beganMs);
    const answer: unknown = Reflect.apply(
      query,
      this,
      args.map((arg) => noting(arg, note)),
    );
    if (answer instanceof Promise) answer.then(note, note);
    return answer;
  });
  try {
    await work();
    let known = -1;
    while (sent.length !== known || sent.some(({ ms }) => ms === null)) {
      known = sent.length;
      await sleep(quietMs);
    }
  } finally {
    Reflect.set(pg.Client.prototype, "query", query);
  }
  return sent.map((statement) => ({ ...statement, ms: statement.ms ?? 0 }));
}

/** A pool's own queries are answered by a callback. */
function noting(arg: unknown, note: () => void): unknown {
  if (typeof arg !== "function") return arg;
  return (...answer: unknown[]): unknown => {
    note();
    return Reflect.apply(arg, undefined, answer);
  };
}

function partsOf([first, second]: readonly unknown[]): Pick<SentStatement, "text" | "values"> {
  const values = Array.isArray(second) ? second : [];
  if (typeof first === "string") return { text: first, values };
  const text: unknown = Reflect.get(Object(first), "text");
  return { text: String(text), values };
}
