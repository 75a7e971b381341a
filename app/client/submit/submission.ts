"use client";
import { draftKeys, readDraft, writeDraft } from "../leaving.ts";
import { newId } from "../api.ts";
import { failureOf } from "../../ui/failures.ts";

/** The key of a request whose answer has not come, and when it was made. */
interface Unanswered {
  readonly key: string;
  readonly atMs: number;
}

/** After this time the same input means another thing, and the server's answer is on the pages anyway. */
const keptMs = 15 * 60_000;
const mostKept = 100;

/** For browsers that block their storage; the keys then live as long as the page. */
let inPage: Readonly<Record<string, Unanswered>> = {};

/** The keys that may still be used, by what was requested. In the storage, so that a reload and other tabs know them. */
function readKeys(): Readonly<Record<string, Unanswered>> {
  const text = readDraft(draftKeys.unanswered);
  const stored = Object.entries(text === null ? inPage : parse(text));
  return Object.fromEntries(stored.filter(([, { atMs }]) => Date.now() - atMs < keptMs));
}

function parse(text: string): Readonly<Record<string, Unanswered>> {
  try {
    const value: unknown = JSON.parse(text);
    const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
    return Object.fromEntries(entries.filter(isUnanswered));
  } catch {
    return {};
  }
}

function isUnanswered(entry: [string, unknown]): entry is [string, Unanswered] {
  const [, value] = entry;
  if (typeof value !== "object" || value === null) return false;
  return "key" in value && typeof value.key === "string" && "atMs" in value && typeof value.atMs === "number";
}

function writeKeys(keys: Readonly<Record<string, Unanswered>>): void {
  const kept = Object.fromEntries(Object.entries(keys).slice(-mostKept));
  writeDraft(draftKeys.unanswered, JSON.stringify(kept));
  inPage = readDraft(draftKeys.unanswered) === null ? kept : {};
}

function keyFor(id: string): string {
  const keys = readKeys();
  const known = keys[id];
  if (known !== undefined) return known.key;
  const key = newId();
  writeKeys({ ...keys, [id]: { key, atMs: Date.now() } });
  return key;
}

function forget(ids: readonly string[]): void {
  const gone = new Set(ids);
  writeKeys(Object.fromEntries(Object.entries(readKeys()).filter(([id]) => !gone.has(id))));
}

/** The server refuses the key for ever: its job was removed, or another request had it. */
const isSpent = (error: unknown) => ["conflict", "idempotency_mismatch"].includes(failureOf(error).code);

/**
 * Sends inputs so that none is carried out twice: an input keeps its idempotency key until all inputs that were sent with
 * it are answered, over lost answers, double clicks, reloads and tabs. `name` parts the inputs of different verbs.
 */
export function createSubmission<Input extends object, Answer extends object>(
  name: string,
  post: (input: Input, idempotencyKey: string) => Promise<Answer>,
) {
  /** The answers to a part of the last inputs; the next try sends only the others. */
  let answers = new Map<string, Answer>();
  let lastIds = "";

  const idsOf = (inputs: readonly Input[]): string[] => {
    const texts = inputs.map((input) => `${name} ${JSON.stringify(input)}`);
    // Equal inputs are several wishes: the first, the second and so on.
    return texts.map((text, at) => `${texts.slice(0, at).filter((other) => other === text).length} ${text}`);
  };
  const begin = (ids: readonly string[]) => {
    const joined = ids.join("\n");
    if (joined !== lastIds) answers = new Map();
    lastIds = joined;
  };

  return {
    /** Throws the first failure when all have ended. `complete` adds what is no part of the input, such as a price. */
    async send(inputs: readonly Input[], complete: (input: Input) => Input = (input) => input) {
      const ids = idsOf(inputs);
      begin(ids);
      const own = answers;
      // In parallel: tRPC sends them as one HTTP request, so leaving the page cannot lose a part.
      const outcomes = await Promise.allSettled(
        inputs.map(async (input, at) => {
          const id = ids[at] ?? "";
          const answer = own.get(id) ?? (await post(complete(input), keyFor(id)));
          own.set(id, answer);
          return answer;
        }),
      );
      const refused = outcomes.flatMap((outcome, at) =>
        outcome.status === "rejected" ? [{ id: ids[at] ?? "", error: outcome.reason as unknown }] : [],
      );
      forget(refused.filter(({ error }) => isSpent(error)).map(({ id }) => id));
      const [first] = refused;
      if (first !== undefined) throw first.error;
      forget(ids);
      if (own === answers) answers = new Map();
      return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    },
    /** How many of these inputs have no answer yet; null when none has one. */
    countUnanswered(inputs: readonly Input[]): number | null {
      const ids = idsOf(inputs);
      const answered = ids.join("\n") === lastIds ? ids.filter((id) => answers.has(id)).length : 0;
      return answered === 0 ? null : ids.length - answered;
    },
  };
}
