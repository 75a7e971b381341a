import { eq } from "drizzle-orm";
import { type AnswerPart, schema } from "@atelier/server/db";
import { addMemory } from "@atelier/server/assistant";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { addModelCall } from "./cloud.ts";
import { idAt } from "./jobs.ts";

const { assistantConversations, assistantMessages, assistantRunEvents, assistantRuns, memories, proposals } =
  schema;

interface Exchange {
  readonly question: string;
  /** Null: no model could answer. */
  readonly answer: string | null;
  /** Shown below the answer. */
  readonly imageIds?: readonly string[];
  /** A job that is proposed for the first of the pictures. */
  readonly isProposed?: boolean;
}

interface Talk {
  readonly ownerId: string;
  readonly title: string;
  readonly daysAgo: number;
  readonly exchanges: readonly Exchange[];
}

/** When a run came to each status, ms after the question. */
const steps = { new: 0, analyzing: 6, analyzed: 640, assembling: 645, ready: 660, responding: 666 } as const;
const answerMs = 3_000;

/** The story of an ended run; a trigger has written its last line with the run. */
async function addQuestionStory({ db }: Services, runId: string, at: Date): Promise<void> {
  const after = (ms: number) => new Date(at.getTime() + ms);
  await db
    .update(assistantRunEvents)
    .set({ at: after(answerMs) })
    .where(eq(assistantRunEvents.runId, runId));
  const lines = Object.entries(steps) as [keyof typeof steps, number][];
  await db
    .insert(assistantRunEvents)
    .values(lines.map(([status, ms], line) => ({ runId, revision: line + 1, status, at: after(ms) })));
}

interface Moment {
  readonly ownerId: string;
  readonly conversationId: string;
  readonly at: Date;
}

/** Stores question and answer as lines of the log, and the run between them. Returns the ids of the lines. */
async function addExchange(services: Services, moment: Moment, exchange: Exchange): Promise<string[]> {
  const { db } = services;
  const { ownerId, conversationId, at } = moment;
  const { question, answer } = exchange;
  const runId = idAt(at);
  const endedAt = new Date(at.getTime() + answerMs);
  const questionId = newId();
  const answerId = newId();
  const line = { conversationId, ownerId, runId, archivedAt: endedAt };
  const asked = { ...line, id: questionId, role: "user", text: question, at } as const;
  const run = {
    id: runId,
    ownerId,
    conversationId,
    questionId,
    createdAt: at,
    endedAt,
    attempt: 3,
    revision: 7,
  };
  await db.insert(assistantMessages).values(asked);
  if (answer === null) {
    await db.insert(assistantRuns).values({ ...run, ...noAnswer });
    await addQuestionStory(services, runId, at);
    return [questionId];
  }
  const parts = partsOf(exchange);
  await db
    .insert(assistantMessages)
    .values({ ...line, id: answerId, role: "assistant", text: answer, at: endedAt });
  await db.insert(assistantRuns).values({ ...run, status: "completed", answerId, answer, parts });
  await addQuestionStory(services, runId, at);
  for (const stage of ["analyzer", "responder"] as const)
    await addModelCall(services, { runId, ownerId, stage, startedAt: at });
  for (const part of parts)
    if (part.type === "proposal") await propose(services, { ...part, runId, ownerId, exchange });
  return [questionId, answerId];
}

const noAnswer = {
  status: "failed",
  errorCode: "assistant_unavailable",
  errorMessage: "The language model gave no answer.",
} as const;

/** What the answer shows below its words. */
function partsOf({ answer, imageIds = [], isProposed = false }: Exchange): AnswerPart[] {
  const at = answer?.length ?? 0;
  const images: AnswerPart[] = imageIds.length > 0 ? [{ type: "images", at, imageIds }] : [];
  return isProposed ? [...images, { type: "proposal", at, proposalId: newId() }] : images;
}

interface Proposed {
  readonly proposalId: string;
  readonly runId: string;
  readonly ownerId: string;
  readonly exchange: Exchange;
}

async function propose({ db }: Services, { proposalId, runId, ownerId, exchange }: Proposed): Promise<void> {
  const image = exchange.imageIds?.[0];
  await db.insert(proposals).values({
    id: proposalId,
    runId,
    ownerId,
    toolCallId: "seed",
    title: "Upscale a picture",
    requestSha256: newId(),
    request: { kind: "upscale", params: { scale: 2 }, inputs: { image } },
  });
}

/** Stores an ended talk; an archivist has nothing to do with it. Returns the ids of its messages. */
async function addTalk(services: Services, { ownerId, title, daysAgo, exchanges }: Talk) {
  const begunMs = Date.now() - daysAgo * 86_400_000 - 600_000;
  const conversationId = idAt(new Date(begunMs));
  const lastAt = new Date(begunMs + exchanges.length * 60_000);
  await services.db
    .insert(assistantConversations)
    .values({ id: conversationId, ownerId, title, createdAt: new Date(begunMs), lastAt });
  const sourceIds: string[] = [];
  for (const [at, exchange] of exchanges.entries()) {
    const place = { ownerId, conversationId, at: new Date(begunMs + at * 60_000) };
    sourceIds.push(...(await addExchange(services, place, exchange)));
  }
  return { conversationId, sourceIds, from: new Date(begunMs), to: lastAt };
}

/** Two talks with the assistant, one with pictures and a proposal, and what is remembered of the older one. No model is asked. */
export async function addTalks(
  services: Services,
  { ownerId, imageIds }: { readonly ownerId: string; readonly imageIds: readonly string[] },
): Promise<void> {
  const older = await addTalk(services, {
    ownerId,
    title: "Which light suits the hills?",
    daysAgo: 6,
    exchanges: [
      {
        question: "Which light suits the hills?",
        answer: "Evening light: long shadows show their forms. At noon they look flat.",
      },
      {
        question: "I like the evening best, without people in it.",
        answer: "Then I keep to evening light and leave people out.",
      },
    ],
  });
  await services.db.insert(memories).values({
    id: newId(),
    ownerId,
    conversationId: older.conversationId,
    summary: "Likes hills in the evening sun best, without people in the picture.",
    tags: ["landscape", "light"],
    periodStart: older.from,
    periodEnd: older.to,
    sourceIds: older.sourceIds,
    origin: "archive",
  });
  await addMemory(services, {
    ownerId,
    text: "Prints are 30 x 40 cm: pictures need 3,600 pixels on the long side.",
  });
  await addTalk(services, {
    ownerId,
    title: "Show me my last landscapes",
    daysAgo: 0,
    exchanges: [
      { question: "Why did my last picture fail?", answer: null },
      {
        question: "Show me my last landscapes, and make the first one large enough for a print.",
        answer:
          "These are your last landscapes. For a print of 30 x 40 cm the first one is too small; upscaling doubles its sides. Start it if you like:",
        imageIds: imageIds.slice(-3).toReversed(),
        isProposed: true,
      },
    ],
  });
}
