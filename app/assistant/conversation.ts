import type { RunUpdate, RunView, Turn } from "@atelier/server/assistant";

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

export function hasRunEnded(run: Pick<RunView, "status">): boolean {
  return endedStatuses.has(run.status);
}

/** The newer state of a run. The stored answer of an open run may be behind the words that were told already. */
function newer(known: RunView, next: RunView): RunView {
  if (next.revision < known.revision) return known;
  const isBehind =
    !hasRunEnded(next) &&
    next.attempt === known.attempt &&
    next.status === "responding" &&
    next.answer.length < known.answer.length;
  return isBehind ? { ...next, answer: known.answer } : next;
}

function turnOf(run: RunView): Turn {
  return { runId: run.id, question: run.question, answer: run.answer, askedAt: run.createdAt, run };
}

function withRun(conversation: Conversation, run: RunView): Conversation {
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
export function applyRunUpdate(conversation: Conversation, update: RunUpdate): Applied {
  if (update.type === "runs")
    return { conversation: update.runs.reduce(withRun, conversation), hasGap: false };
  const turn = conversation.turns.find(({ runId }) => runId === update.runId);
  const run = turn?.run;
  if (!run || hasRunEnded(run) || update.attempt < run.attempt) return { conversation, hasGap: false };
  const known = update.attempt > run.attempt ? "" : run.answer;
  if (update.at > known.length) return { conversation, hasGap: true };
  const answer = known.slice(0, update.at) + update.text;
  const next: RunView = { ...run, attempt: update.attempt, status: "responding", answer };
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
  onRuns: (listener: (update: RunUpdate) => void) => () => void,
): Promise<Conversation> {
  const told: RunUpdate[] = [];
  const stop = onRuns((update) => told.push(update));
  try {
    const conversation = await read();
    return told.reduce((known, update) => applyRunUpdate(known, update).conversation, conversation);
  } finally {
    stop();
  }
}
