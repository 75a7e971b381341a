import { expect, test } from "vitest";
import type { QuestionUpdate, QuestionView } from "@atelier/server/assistant";
import { applyQuestionUpdate, type Conversation, readWithUpdates } from "./conversation.ts";

const run = (changes: Partial<QuestionView> = {}): QuestionView => ({
  id: "run",
  conversationId: "talk",
  talk: { title: "", isPinned: false },
  status: "responding",
  revision: 6,
  attempt: 3,
  question: "What do I like?",
  pictures: [],
  answer: "",
  thinking: "",
  parts: [],
  proposals: [],
  usedCount: 0,
  isStopped: false,
  error: null,
  createdAt: "2026-05-01T10:00:00.000Z",
  endedAt: null,
  ...changes,
});

const empty: Conversation = { id: "talk", title: "", lastAt: "", turns: [] };
const withQuestion = (changes?: Partial<QuestionView>) =>
  applyQuestionUpdate(empty, { type: "runs", runs: [run(changes)] });
const words = (at: number, text: string, attempt = 3) =>
  ({ type: "answer", runId: "run", at, text, attempt }) as const;
const answerOf = ({ turns }: Conversation) => turns.map(({ answer }) => answer).join("|");

test("B7 words are put where they belong; what comes twice changes nothing", () => {
  const first = applyQuestionUpdate(withQuestion(), words(0, "You like "));
  const second = applyQuestionUpdate(first, words(9, "linen."));
  const again = applyQuestionUpdate(second, words(0, "You like linen."));
  expect([first, second, again].map(answerOf)).toEqual(["You like ", "You like linen.", "You like linen."]);
});

const stored = (answer: string, changes: Partial<QuestionView> = {}) =>
  ({ type: "runs", runs: [run({ answer, ...changes })] }) as const;
/** The answer after each of the updates, to a page that has read its beginning. */
const answersAfter = (updates: readonly QuestionUpdate[]) => {
  let talk = withQuestion({ answer: "You" });
  return updates.map((update) => answerOf((talk = applyQuestionUpdate(talk, update))));
};

test("B7 words whose beginning was missed come with the stored answer that reaches them, and none is lost", () => {
  const heard = [words(9, "linen "), words(15, "and wo"), words(21, "ol")];
  expect(answersAfter([...heard, stored("You li"), stored("You like l"), words(23, ".")])).toEqual([
    "You",
    "You",
    "You",
    "You li",
    "You like linen and wool",
    "You like linen and wool.",
  ]);
  // With a second gap the later words count, and an end or another attempt drops them.
  expect(answersAfter([words(9, "linen "), words(21, "ol"), stored("You like linen ")]).at(-1)).toBe(
    "You like linen ",
  );
  const ended = { status: "completed", revision: 7 } as const;
  expect(answersAfter([words(9, "linen"), stored("You like it.", ended)]).at(-1)).toBe("You like it.");
  const again = { attempt: 4, revision: 8 };
  expect(answersAfter([words(2, "a"), words(9, "linen"), stored("I say that", again)]).at(-1)).toBe(
    "I say that",
  );
});

test("B7 words of an earlier attempt are dropped, those of a later one begin anew", () => {
  expect(answersAfter([words(0, "Old", 2)])).toEqual(["You"]);
  expect(answersAfter([words(0, "New", 4)])).toEqual(["New"]);
});

test("B7 a stored answer never takes away words that were told, until the run has ended", () => {
  const told = applyQuestionUpdate(withQuestion(), words(0, "You like linen."));
  const behind = applyQuestionUpdate(told, { type: "runs", runs: [run({ answer: "You" })] });
  expect(answerOf(behind)).toBe("You like linen.");
  const ended = run({ status: "completed", revision: 7, answer: "You like" });
  const stopped = applyQuestionUpdate(told, { type: "runs", runs: [ended] });
  expect(answerOf(stopped)).toBe("You like");
  const older = applyQuestionUpdate(stopped, { type: "runs", runs: [run()] });
  expect(answerOf(older)).toBe("You like");
});

test("a run of another conversation changes nothing", () => {
  const other = applyQuestionUpdate(empty, { type: "runs", runs: [run({ conversationId: "other" })] });
  expect(other.turns).toEqual([]);
});

test("B6 what is told while a conversation is read counts, though what was read is older", async () => {
  const { promise, resolve } = Promise.withResolvers<Conversation>();
  const listeners = new Set<(update: QuestionUpdate) => void>();
  const reading = readWithUpdates(
    () => promise,
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  );
  const ended = run({ status: "completed", revision: 9, answer: "You may." });
  for (const tell of listeners) tell({ type: "runs", runs: [ended] });
  resolve(withQuestion({ status: "new", revision: 1 }));
  expect((await reading).turns).toMatchObject([{ answer: "You may.", run: { status: "completed" } }]);
  expect(listeners.size).toBe(0);
});
