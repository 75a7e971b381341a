import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

export interface Asking {
  readonly kinds: readonly string[];
  readonly input: Readable;
  readonly output: Writable;
  /** Ends the question as Enter does. */
  readonly signal?: AbortSignal;
}

/** Whether there is somebody to ask and something to ask for: a terminal, no CI, and no kinds configured. */
export function mayAsk(given: {
  readonly isTerminal: boolean;
  readonly ci: string | undefined;
  readonly only: readonly string[];
}): boolean {
  const isCi = given.ci !== undefined && !["", "0", "false"].includes(given.ci);
  return given.isTerminal && !isCi && given.only.length === 0;
}

/** Asks which kinds of jobs a worker shall take, by number or name, until the answer is right; empty (Enter) for all. */
export async function askOnly({ kinds, input, output, signal }: Asking): Promise<string[]> {
  const choices = kinds.map((kind, at) => `  ${at + 1}  ${kind}`).join("\n");
  output.write(`Which jobs shall this worker take?\n${choices}\n`);
  // Not in raw mode, so that Ctrl-C stays what it is.
  const lines = createInterface({ input, terminal: false, ...(signal ? { signal } : {}) });
  // Before the first question: lines that come earlier than the iterator are lost.
  const answers = lines[Symbol.asyncIterator]();
  const prompt = () => output.write("Numbers or names, separated by commas; Enter for all: ");
  prompt();
  try {
    for await (const line of answers) {
      const words = line.split(/[\s,]+/).filter(Boolean);
      const chosen = words.map((word) => kinds.find((kind, at) => word === kind || word === String(at + 1)));
      const known = chosen.filter((kind) => kind !== undefined);
      if (known.length === words.length) return [...new Set(known)];
      const unknown = words.filter((_, at) => chosen[at] === undefined);
      output.write(`There is no ${unknown.join(", ")}. `);
      prompt();
    }
    return [];
  } finally {
    lines.close();
    // What was not read may keep the process alive.
    input.pause();
  }
}
