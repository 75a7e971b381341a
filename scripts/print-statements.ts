/**
 * Prints every SQL statement of a process with its time: a preload, `NODE_OPTIONS=--import=./scripts/print-statements.ts`.
 * The driver publishes them on the tracing channel `atelier:statement`; params are left out, since they hold prompts.
 */
import { tracingChannel } from "node:diagnostics_channel";

interface Statement {
  readonly text: string;
}

const begunMs = new WeakMap<object, number>();

const print = (statement: Statement, end: string) => {
  const ms = performance.now() - (begunMs.get(statement) ?? 0);
  const text = statement.text.replaceAll(/\s+/g, " ").trim().slice(0, 160);
  process.stderr.write(`sql ${ms.toFixed(1).padStart(7)} ms ${end} ${text}\n`);
};

tracingChannel<unknown, Statement>("atelier:statement").subscribe({
  start: (statement) => void begunMs.set(statement, performance.now()),
  end: () => undefined,
  asyncStart: () => undefined,
  asyncEnd: (statement) => print(statement, "error" in statement ? "failed" : "ok"),
  error: () => undefined,
});
