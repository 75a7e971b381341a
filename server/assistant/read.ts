import { and, desc, eq, inArray, or, type SQL, sql } from "drizzle-orm";
import type { Caller } from "../accounts/plain.ts";
import { recordAct } from "../audit/index.ts";
import { latestFirst, schema, toPage } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type ProposalView, readProposals } from "./proposals.ts";
import { type GivenPicture, readGiven } from "./given.ts";
import type { QuestionRow } from "./life.ts";

const { assistantConversations, assistantMessages, assistantRuns, clientUsers, memories } = schema;

/** A question as its user sees it; the same shape in conversations and live updates. Times are ISO 8601, UTC. */
export interface QuestionView {
  readonly id: string;
  readonly conversationId: string;
  readonly status: QuestionRow["status"];
  readonly revision: number;
  readonly attempt: number;
  readonly question: string;
  /** Given with the question. */
  readonly pictures: readonly GivenPicture[];
  /** As far as it is stored. */
  readonly answer: string;
  /** What the model thought, where it tells; no part of the answer. */
  readonly thinking: string;
  readonly parts: QuestionRow["parts"];
  readonly proposals: readonly ProposalView[];
  /** How many memories and messages the answer could use. */
  readonly usedCount: number;
  readonly isStopped: boolean;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

const states = sql`(select string_agg(p.state, ',' order by p.id) from ${schema.proposals} p where p.run_id = ${assistantRuns.id})`;

/** SQL expression: differs with each change of a question that makes no new revision. */
export const questionDetail = sql<string>`concat_ws(' ', length(${assistantRuns.answer}), jsonb_array_length(${assistantRuns.parts}), ${states})`;

/** A question with its owner and with what it was at the time of `view`. */
export interface LoadedQuestion {
  readonly ownerId: string;
  readonly detail: string;
  readonly view: QuestionView;
}

/** Questions with their texts and proposals, oldest first; of more than `most` the newest. */
export async function loadQuestionRows(
  services: Pick<Services, "db">,
  where: SQL | undefined,
  most?: number,
): Promise<LoadedQuestion[]> {
  const newest = services.db
    .select({
      run: assistantRuns,
      question: assistantMessages.text,
      imageIds: assistantMessages.imageIds,
      detail: questionDetail,
    })
    .from(assistantRuns)
    .innerJoin(assistantMessages, eq(assistantMessages.id, assistantRuns.questionId))
    .where(where)
    .orderBy(desc(assistantRuns.createdAt), desc(assistantRuns.id))
    .$dynamic();
  const rows = (await (most === undefined ? newest : newest.limit(most))).toReversed();
  const givenOf = ({ run: { ownerId }, imageIds }: (typeof rows)[number]) => ({ ownerId, imageIds });
  const [proposals, picturesOf] = await Promise.all([
    readProposals(
      services,
      rows.map(({ run }) => run.id),
    ),
    readGiven(services, rows.map(givenOf)),
  ]);
  return rows.map((row) => ({
    ownerId: row.run.ownerId,
    detail: row.detail,
    view: viewOf(row.run, { question: row.question, pictures: picturesOf(givenOf(row)) }, proposals),
  }));
}

async function loadQuestions(
  services: Pick<Services, "db">,
  where: SQL | undefined,
): Promise<QuestionView[]> {
  return (await loadQuestionRows(services, where)).map(({ view }) => view);
}

function viewOf(
  run: QuestionRow,
  asked: Pick<QuestionView, "question" | "pictures">,
  proposals: readonly ProposalView[],
): QuestionView {
  const { id, conversationId, status, revision, attempt, answer, thinking, parts, createdAt, endedAt } = run;
  const own = new Set(parts.flatMap((part) => (part.type === "proposal" ? [part.proposalId] : [])));
  return {
    id,
    conversationId,
    status,
    revision,
    attempt,
    ...asked,
    answer,
    thinking,
    parts,
    proposals: proposals.filter((proposal) => own.has(proposal.id)),
    usedCount: run.context?.used.length ?? 0,
    isStopped: run.stopRequestedAt !== null,
    error: run.errorCode === null ? null : { code: run.errorCode, message: run.errorMessage ?? "" },
    createdAt: createdAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}

interface OwnId {
  readonly ownerId: string;
  readonly id: string;
}

/** A question by the id alone, for a client: an own one, or for an admin also one of a user that admins' keys act for. Throws `not_found`. */
export async function readClientQuestion(
  services: Pick<Services, "db">,
  { userId, isAdmin }: Pick<Caller, "userId" | "isAdmin">,
  id: string,
): Promise<QuestionView> {
  const own = eq(assistantRuns.ownerId, userId);
  const ofClient = sql`exists (select from ${clientUsers} where ${clientUsers.userId} = ${assistantRuns.ownerId})`;
  const readable = and(eq(assistantRuns.id, id), isAdmin ? or(own, ofClient) : own);
  const [run] = isId(id) ? await loadQuestions(services, readable) : [];
  if (!run) throw new AppError("not_found");
  return run;
}

export interface ConversationView {
  readonly id: string;
  readonly title: string;
  readonly lastAt: string;
}

const conversationsPerPage = 30;

const pages = latestFirst(assistantConversations.lastAt, assistantConversations.id);

/** Own conversations, the last used first. `cursor` is the `next` of the page before. Throws `bad_request` for a wrong one. */
export async function listConversations(
  { db }: Services,
  { ownerId, cursor }: { readonly ownerId: string; readonly cursor: string | undefined },
): Promise<{ items: ConversationView[]; next: string | null }> {
  const { id, title, lastAt } = assistantConversations;
  const rows = await db
    .select({ id, title, lastAt, cursor: pages.cursor })
    .from(assistantConversations)
    .where(
      and(
        eq(assistantConversations.ownerId, ownerId),
        cursor === undefined ? undefined : pages.isBehind(cursor),
      ),
    )
    .orderBy(...pages.order)
    .limit(conversationsPerPage + 1);
  const { items: shown, nextCursor } = toPage(rows, conversationsPerPage, "cursor");
  const items = shown.map((row) => ({
    id: row.id,
    title: row.title ?? "",
    lastAt: row.lastAt.toISOString(),
  }));
  return { items, next: nextCursor };
}

/** A question with its answer. The row of a question is gone when it was pruned; its words are still there. */
export interface Turn {
  readonly runId: string;
  readonly question: string;
  readonly pictures: readonly GivenPicture[];
  readonly answer: string;
  readonly askedAt: string;
  readonly run: QuestionView | null;
}

/** Turns that a page shows at once. */
const turnsPerPage = 50;

/** The last turns of an own conversation, oldest first. Throws `not_found`. */
export async function readConversation(
  services: Services,
  { ownerId, id }: OwnId,
): Promise<ConversationView & { readonly turns: Turn[] }> {
  const { db } = services;
  const own = and(eq(assistantConversations.id, id), eq(assistantConversations.ownerId, ownerId));
  const [conversation] = isId(id) ? await db.select().from(assistantConversations).where(own) : [];
  if (!conversation) throw new AppError("not_found");
  const messages = await db
    .select()
    .from(assistantMessages)
    .where(eq(assistantMessages.conversationId, id))
    .orderBy(desc(assistantMessages.at), desc(assistantMessages.id))
    .limit(turnsPerPage * 2);
  const runIds = [...new Set(messages.map(({ runId }) => runId).filter((runId) => runId !== null))];
  const runs = runIds.length > 0 ? await loadQuestions(services, inArray(assistantRuns.id, runIds)) : [];
  const picturesOf = await readGiven(services, messages);
  const questionById = new Map(runs.map((run) => [run.id, run]));
  const turns = messages
    .toReversed()
    .filter(({ role }) => role === "user")
    .map((message): Turn => {
      const { id: messageId, runId, text, at } = message;
      const answer = messages.find((said) => said.role === "assistant" && said.runId === runId);
      const run = runId === null ? null : (questionById.get(runId) ?? null);
      return {
        runId: runId ?? messageId,
        question: text,
        pictures: picturesOf(message),
        answer: run?.answer ?? answer?.text ?? "",
        askedAt: at.toISOString(),
        run,
      };
    });
  const { title, lastAt } = conversation;
  return { id, title: title ?? "", lastAt: lastAt.toISOString(), turns };
}

/** Removes an own conversation with its questions and messages; memories that were made from it stay. Throws `not_found`. */
export async function deleteConversation({ db }: Services, { ownerId, id }: OwnId): Promise<void> {
  const own = and(eq(assistantConversations.id, id), eq(assistantConversations.ownerId, ownerId));
  if (!isId(id)) throw new AppError("not_found");
  await db.transaction(async (tx) => {
    const deleted = await tx
      .delete(assistantConversations)
      .where(own)
      .returning({ id: assistantConversations.id });
    if (deleted.length === 0) throw new AppError("not_found");
    await recordAct(tx, { kind: "assistant.conversation_deleted", by: ownerId, object: id });
  });
}

/** A memory or a message that an answer could use. */
export interface UsedMemory {
  readonly kind: "memory" | "message";
  readonly id: string;
  readonly text: string;
  readonly from: string;
  readonly to: string;
}

/** What the context of an own question held from the memory and is still remembered. Throws `not_found`. */
export async function readUsed({ db }: Services, { ownerId, id }: OwnId): Promise<UsedMemory[]> {
  const [run] = isId(id)
    ? await db
        .select({ context: assistantRuns.context })
        .from(assistantRuns)
        .where(and(eq(assistantRuns.id, id), eq(assistantRuns.ownerId, ownerId)))
    : [];
  if (!run) throw new AppError("not_found");
  const used = run.context?.used ?? [];
  const idsOf = (kind: UsedMemory["kind"]) =>
    used.filter((item) => item.kind === kind).map((item) => item.id);
  const [memoryIds, messageIds] = [idsOf("memory"), idsOf("message")];
  const [ofMemory, ofLog] = await Promise.all([
    memoryIds.length > 0
      ? db
          .select()
          .from(memories)
          .where(and(eq(memories.ownerId, ownerId), inArray(memories.id, memoryIds)))
      : [],
    messageIds.length > 0
      ? db
          .select()
          .from(assistantMessages)
          .where(and(eq(assistantMessages.ownerId, ownerId), inArray(assistantMessages.id, messageIds)))
      : [],
  ]);
  const found: UsedMemory[] = [
    ...ofMemory.map((memory) => ({
      kind: "memory" as const,
      id: memory.id,
      text: memory.summary,
      from: memory.periodStart.toISOString(),
      to: memory.periodEnd.toISOString(),
    })),
    ...ofLog.map(({ id: messageId, text, at }) => ({
      kind: "message" as const,
      id: messageId,
      text,
      from: at.toISOString(),
      to: at.toISOString(),
    })),
  ];
  return found.toSorted((a, b) => a.to.localeCompare(b.to));
}
