import { and, desc, eq, gte, inArray, or, type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import type { Caller } from "../accounts/plain.ts";
import { schema } from "../db/index.ts";
import { AppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type ProposalView, readProposals } from "./proposals.ts";
import { type GivenPicture, readGiven } from "./given.ts";
import type { QuestionRow } from "./life.ts";
import { type ConversationView, type OwnId, ownTalk, toConversation } from "./talks.ts";

const { assistantConversations, assistantMessages, assistantRuns, clientUsers, memories } = schema;

/** A question as its user sees it; the same shape in conversations and live updates. Times are ISO 8601, UTC. */
export interface QuestionView {
  readonly id: string;
  readonly conversationId: string;
  /** What the list of conversations shows of its conversation. */
  readonly talk: Pick<ConversationView, "title" | "isPinned">;
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

const named = sql`(select concat(c.pinned_at, c.title) from ${assistantConversations} c where c.id = ${assistantRuns.conversationId})`;

/** SQL expression: differs with each change of a question or its conversation that makes no new revision. */
export const questionDetail = sql<string>`concat_ws(' ', length(${assistantRuns.answer}), jsonb_array_length(${assistantRuns.parts}), ${states}, ${named})`;

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
      conversation: assistantConversations,
      question: assistantMessages.text,
      imageIds: assistantMessages.imageIds,
      detail: questionDetail,
    })
    .from(assistantRuns)
    .innerJoin(assistantMessages, eq(assistantMessages.id, assistantRuns.questionId))
    .innerJoin(assistantConversations, eq(assistantConversations.id, assistantRuns.conversationId))
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
  const askedOf = ({ question, conversation }: (typeof rows)[number], pictures: readonly GivenPicture[]) => {
    const { title, isPinned } = toConversation(conversation);
    return { question, pictures, talk: { title, isPinned } };
  };
  return rows.map((row) => ({
    ownerId: row.run.ownerId,
    detail: row.detail,
    view: viewOf(row.run, askedOf(row, picturesOf(givenOf(row))), proposals),
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
  asked: Pick<QuestionView, "question" | "pictures" | "talk">,
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

/** A question with its answer. The row of a question is gone when it was pruned; its words are still there. */
export interface Turn {
  readonly runId: string;
  readonly question: string;
  readonly pictures: readonly GivenPicture[];
  readonly answer: string;
  readonly askedAt: string;
  readonly run: QuestionView | null;
}

/** Turns that a page shows at once, and those that one can ask for. */
const turnsPerPage = 50;
const mostTurns = 2_000;

export const readConversationSchema = z.strictObject({
  id: z.string(),
  /** The last of them. */
  turns: z.int().min(1).max(mostTurns).optional(),
  /** More where it takes more to reach the turn with this id. */
  reach: z.string().optional(),
});

interface ReadInput extends z.output<typeof readConversationSchema> {
  readonly ownerId: string;
}

interface WholeConversation extends ConversationView {
  readonly turns: Turn[];
  readonly hasEarlier: boolean;
}

/** The last turns of an own conversation, oldest first. Throws `not_found`. */
export async function readConversation(
  services: Services,
  { ownerId, id, turns: wanted = turnsPerPage, reach = "" }: ReadInput,
): Promise<WholeConversation> {
  const { db } = services;
  const [conversation] = await db.select().from(assistantConversations).where(ownTalk({ ownerId, id }));
  if (!conversation) throw new AppError("not_found");
  const { conversationId, at } = assistantMessages;
  const ofTalk = eq(conversationId, id);
  const said = sql`(select min(m.at) from ${assistantMessages} m where m.conversation_id = ${id} and ${reach} in (m.id::text, m.run_id::text))`;
  const reached = reach === "" ? 0 : await db.$count(assistantMessages, and(ofTalk, gte(at, said)));
  const most = Math.min(Math.max(wanted * 2, reached + 2), mostTurns * 2);
  const found = await db
    .select()
    .from(assistantMessages)
    .where(ofTalk)
    .orderBy(desc(at), desc(assistantMessages.id))
    .limit(most + 1);
  const messages = found.slice(0, most);
  const runIds = [...new Set(messages.map(({ runId }) => runId).filter((runId) => runId !== null))];
  const runs = runIds.length > 0 ? await loadQuestions(services, inArray(assistantRuns.id, runIds)) : [];
  const picturesOf = await readGiven(services, messages);
  const questionById = new Map(runs.map((run) => [run.id, run]));
  const turns = messages
    .toReversed()
    .filter(({ role }) => role === "user")
    .map((message): Turn => {
      const { id: messageId, runId, text, at: askedAt } = message;
      const answer = messages.find((said) => said.role === "assistant" && said.runId === runId);
      const run = runId === null ? null : (questionById.get(runId) ?? null);
      return {
        runId: runId ?? messageId,
        question: text,
        pictures: picturesOf(message),
        answer: run?.answer ?? answer?.text ?? "",
        askedAt: askedAt.toISOString(),
        run,
      };
    });
  return { ...toConversation(conversation), turns, hasEarlier: found.length > most };
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
