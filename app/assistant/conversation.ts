import type { QuestionUpdate, QuestionView, Turn } from "@atelier/server/assistant";

/** A conversation as the page holds it. */
export interface Conversation {
  readonly id: string;
  readonly title: string;
  readonly lastAt: string;
  readonly turns: readonly Turn[];
}

export interface Applied {
  readonly conversation: Conversation;
  /** Words were missed: the conversation has to be read again. */
  readonly hasGap: boolean;
}

const endedStatuses: ReadonlySet<string> = new Set(["completed", "failed"]);

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
  return { runId: run.id, question: run.question, answer: run.answer, askedAt: run.createdAt, run };
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

/** Applies an update of the live stream. The same conversation comes back when it is about another one. */
export function applyQuestionUpdate(conversation: Conversation, update: QuestionUpdate): Applied {
  if (update.type === "runs")
    return { conversation: update.runs.reduce(withQuestion, conversation), hasGap: false };
  const turn = conversation.turns.find(({ runId }) => runId === update.runId);
  const run = turn?.run;
  if (!run || hasQuestionEnded(run) || update.attempt < run.attempt) return { conversation, hasGap: false };
  const known = update.attempt > run.attempt ? "" : run.answer;
  if (update.at > known.length) return { conversation, hasGap: true };
  const answer = known.slice(0, update.at) + update.text;
  const next: QuestionView = { ...run, attempt: update.attempt, status: "responding", answer };
  const turns = conversation.turns.map((other) =>
    other.runId === run.id ? { ...other, run: next, answer } : other,
  );
  return { conversation: { ...conversation, turns }, hasGap: false };
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
    return told.reduce((known, update) => applyQuestionUpdate(known, update).conversation, conversation);
  } finally {
    stop();
  }
}
