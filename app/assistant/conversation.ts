import type { QuestionUpdate, QuestionView, Turn } from "@atelier/server/assistant";
import type { endedQuestionStatuses } from "@atelier/server/db";

/** The server answers with so many turns at most. */
export const mostTurns = 2_000;

/** A conversation as the page holds it. */
export interface Conversation {
  readonly id: string;
  readonly title: string;
  readonly lastAt: string;
  readonly turns: readonly Turn[];
  /** There are turns before these. */
  readonly hasEarlier?: boolean;
  /** Words whose beginning was missed. The row of the question, which comes each second, has the words before them. */
  readonly ahead?: Words | null;
}

type Words = Extract<QuestionUpdate, { type: "answer" }>;

const endedStatuses: ReadonlySet<string> = new Set([
  "completed",
  "failed",
] satisfies typeof endedQuestionStatuses);

export function hasQuestionEnded(run: Pick<QuestionView, "status">): boolean {
  return endedStatuses.has(run.status);
}

/** The newer state of a question. The stored answer of an open question may be behind the words that were told already. */
function newer(known: QuestionView, next: QuestionView): QuestionView {
  if (next.revision < known.revision) return known;
  const isBehind =
    !hasQuestionEnded(next) &&
    next.attempt === known.attempt &&
    next.status === "responding" &&
    next.answer.length < known.answer.length;
  return isBehind ? { ...next, answer: known.answer } : next;
}

function turnOf(run: QuestionView): Turn {
  const { id, question, pictures, answer, createdAt } = run;
  return { runId: id, question, pictures, answer, askedAt: createdAt, run };
}

function withQuestion(conversation: Conversation, run: QuestionView): Conversation {
  if (run.conversationId !== conversation.id) return conversation;
  const isKnown = conversation.turns.some(({ runId }) => runId === run.id);
  const turns = isKnown
    ? conversation.turns.map((turn) => {
        if (turn.runId !== run.id) return turn;
        const next = turn.run === null ? run : newer(turn.run, run);
        return { ...turn, run: next, answer: next.answer };
      })
    : [...conversation.turns, turnOf(run)];
  return { ...conversation, turns };
}

/** The words with those that they continue; null when some between them are missing. */
function joined(last: Omit<Words, "type" | "runId">, next: Words): Words | null {
  const kept = next.at - last.at;
  if (last.attempt !== next.attempt || kept < 0 || kept > last.text.length) return null;
  return { ...next, at: last.at, text: last.text.slice(0, kept) + next.text };
}

function withWords(conversation: Conversation, words: Words): Conversation {
  const { runId, attempt } = words;
  const run = conversation.turns.find((turn) => turn.runId === runId)?.run;
  if (!run || hasQuestionEnded(run) || attempt < run.attempt) return conversation;
  const whole = joined({ attempt, at: 0, text: attempt > run.attempt ? "" : run.answer }, words);
  const { ahead } = conversation;
  if (whole === null) {
    const continued = ahead?.runId === runId ? joined(ahead, words) : null;
    return { ...conversation, ahead: continued ?? words };
  }
  const answer = whole.text;
  const next: QuestionView = { ...run, attempt, status: "responding", answer };
  const turns = conversation.turns.map((other) =>
    other.runId === run.id ? { ...other, run: next, answer } : other,
  );
  return { ...conversation, turns, ahead: null };
}

/** Applies an update of the live stream. The same conversation comes back when it is about another one. */
export function applyQuestionUpdate(conversation: Conversation, update: QuestionUpdate): Conversation {
  if (update.type === "answer") return withWords(conversation, update);
  const next = update.runs.reduce(withQuestion, conversation);
  if (next === conversation || !next.ahead) return next;
  return withWords({ ...next, ahead: null }, next.ahead);
}

/**
 * Reads a conversation and applies the updates that come during the read: what was read may be older, and no update comes
 * twice.
 */
export async function readWithUpdates(
  read: () => Promise<Conversation>,
  onQuestions: (listener: (update: QuestionUpdate) => void) => () => void,
): Promise<Conversation> {
  const told: QuestionUpdate[] = [];
  const stop = onQuestions((update) => told.push(update));
  try {
    const conversation = await read();
    return told.reduce(applyQuestionUpdate, conversation);
  } finally {
    stop();
  }
}
