import { expect, test } from "vitest";
import type { QuestionUpdate, QuestionView } from "@atelier/server/assistant";
import { applyQuestionUpdate, type Conversation, readWithUpdates } from "./conversation.ts";

const run = (changes: Partial<QuestionView> = {}): QuestionView => ({
  id: "run",
  conversationId: "talk",
  status: "responding",
  revision: 6,
  attempt: 3,
  question: "What do I like?",
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
  applyQuestionUpdate(empty, { type: "runs", runs: [run(changes)] }).conversation;
const words = (at: number, text: string, attempt = 3) =>
  ({ type: "answer", runId: "run", at, text, attempt }) as const;
const answerOf = ({ turns }: Conversation) => turns.map(({ answer }) => answer).join("|");

test("B7 words are put where they belong; what comes twice changes nothing", () => {
  const first = applyQuestionUpdate(withQuestion(), words(0, "You like "));
  const second = applyQuestionUpdate(first.conversation, words(9, "linen."));
  const again = applyQuestionUpdate(second.conversation, words(0, "You like linen."));
  expect([first, second, again].map(({ conversation }) => answerOf(conversation))).toEqual([
    "You like ",
    "You like linen.",
    "You like linen.",
  ]);
});

test("B7 missing words are noticed, and words of an earlier attempt are dropped", () => {
  expect(applyQuestionUpdate(withQuestion({ answer: "You" }), words(9, "linen."))).toMatchObject({
    hasGap: true,
  });
  const late = applyQuestionUpdate(withQuestion({ answer: "You" }), words(0, "Old", 2));
  expect([answerOf(late.conversation), late.hasGap]).toEqual(["You", false]);
  const restarted = applyQuestionUpdate(withQuestion({ answer: "You like" }), words(0, "New", 4));
  expect(answerOf(restarted.conversation)).toBe("New");
});

test("B7 a stored answer never takes away words that were told, until the run has ended", () => {
  const told = applyQuestionUpdate(withQuestion(), words(0, "You like linen.")).conversation;
  const behind = applyQuestionUpdate(told, { type: "runs", runs: [run({ answer: "You" })] });
  expect(answerOf(behind.conversation)).toBe("You like linen.");
  const ended = run({ status: "completed", revision: 7, answer: "You like" });
  const stopped = applyQuestionUpdate(told, { type: "runs", runs: [ended] });
  expect(answerOf(stopped.conversation)).toBe("You like");
  const older = applyQuestionUpdate(stopped.conversation, { type: "runs", runs: [run()] });
  expect(answerOf(older.conversation)).toBe("You like");
});

test("a run of another conversation changes nothing", () => {
  const other = applyQuestionUpdate(empty, { type: "runs", runs: [run({ conversationId: "other" })] });
  expect(other.conversation.turns).toEqual([]);
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
  resolve(
    applyQuestionUpdate(empty, { type: "runs", runs: [run({ status: "new", revision: 1 })] }).conversation,
  );
  expect((await reading).turns).toMatchObject([{ answer: "You may.", run: { status: "completed" } }]);
  expect(listeners.size).toBe(0);
});
