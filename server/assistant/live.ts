import { and, eq, inArray, or, type SQL, sql } from "drizzle-orm";
import { ago, schema } from "../db/index.ts";
import { firstRowsFrom, type LiveSource, type Row } from "../live/index.ts";
import type { AnswerWords } from "../queue/index.ts";
import { type LoadedQuestion, loadQuestionRows, questionDetail, type QuestionView } from "./read.ts";
import { isEnded, isOpen } from "./life.ts";

const { assistantRuns, proposals } = schema;

type WordsUpdate = { readonly type: "answer" } & AnswerWords;

/**
 * Messages of the live stream of a browser. A question replaces the known one if its revision is not older; the words of an
 * answer replace what is behind its first `at` characters.
 */
export type QuestionUpdate = { readonly type: "runs"; readonly runs: readonly QuestionView[] } | WordsUpdate;

/** Streams begin with questions that ended at most this long ago, and their proposals are looked at as long. */
const lookBackMs = 10 * 60_000;
/** A page shows fewer. */
const mostFirst = 200;

const endedAfter = (time: SQL) => sql`${assistantRuns.endedAt} > ${time}`;

/** Questions of the assistant as a source of the live feed. */
export const questionSource: LiveSource<QuestionView, QuestionUpdate> = {
  name: "runs",
  restMs: 15_000,
  liveEndsWithRevision: true,
  // A proposal that was decided makes no new revision.
  hinted: (message) =>
    message.type === "run" ? [{ id: message.runId, ownerId: message.ownerId, revision: Infinity }] : [],
  liveOf: (message) =>
    message.type === "answer"
      ? { id: message.words.runId, update: { type: "answer", ...message.words } }
      : null,
  joinLive: (last, next) => (last.type === "answer" && next.type === "answer" ? joinWords(last, next) : next),
  readMarks: ({ db }, { ownerIds, withinMs }) =>
    db
      .select({
        id: assistantRuns.id,
        ownerId: assistantRuns.ownerId,
        revision: assistantRuns.revision,
        detail: questionDetail,
        isActive: sql<boolean>`${isOpen}`,
      })
      .from(assistantRuns)
      .where(
        and(
          inArray(assistantRuns.ownerId, [...ownerIds]),
          or(isOpen, endedAfter(ago(Math.max(withinMs, lookBackMs)))),
        ),
      ),
  async readRows(services, ids) {
    const loaded = await loadQuestionRows(services, inArray(assistantRuns.id, [...ids]));
    return { rows: loaded.map(toRow), at: new Date().toISOString() };
  },
  async readFirst(services, { ownerId, since }) {
    const from = sql`least(${ago(lookBackMs)}, ${firstRowsFrom(since, lookBackMs)})`;
    const decided = sql`${assistantRuns.id} in (select ${proposals.runId} from ${proposals}
      where ${proposals.ownerId} = ${ownerId} and ${proposals.decidedAt} > ${from})`;
    const own = and(eq(assistantRuns.ownerId, ownerId), or(isOpen, endedAfter(from), decided));
    return (await loadQuestionRows(services, own, mostFirst)).map(toRow);
  },
  toUpdate: (runs) => (runs.length > 0 ? { type: "runs", runs } : null),
};

function toRow({ ownerId, detail, view }: LoadedQuestion): Row<QuestionView> {
  const { id, revision, status } = view;
  return { mark: { id, ownerId, revision, detail, isActive: !isEnded(status) }, view };
}

/** The words of both; with a gap between them or of a later attempt the next ones alone. */
function joinWords(last: WordsUpdate, next: WordsUpdate): WordsUpdate {
  const kept = next.at - last.at;
  if (last.attempt !== next.attempt || kept < 0 || kept > last.text.length) return next;
  return { ...last, text: last.text.slice(0, kept) + next.text };
}
