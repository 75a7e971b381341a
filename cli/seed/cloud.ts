import { eq, like } from "drizzle-orm";
import { schema } from "@atelier/server/db";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { Plan } from "./jobs.ts";

const { providerAttempts, modelCalls } = schema;

/** Instead of the hash of a key: no worker follows these requests, since none holds such a key. */
const keyId = "seed";
/** Prefix of the names of seeded language models; no server has a model of such a name. */
const modelPrefix = "seed/";

const offers = [
  { provider: "google", endpoint: "gemini-3.1-flash-image", priceUsd: 0.067 },
  { provider: "fal", endpoint: "fal-ai/nano-banana", priceUsd: 0.039 },
] as const;

interface Bought {
  readonly jobId: string;
  readonly plan: Pick<Plan, "ownerId" | "createdAt" | "waitMs" | "runMs">;
  readonly number: number;
}

/** The requests to providers that a job was made by: one, or a failed one and a second. */
export async function addAttempts(
  { db }: Pick<Services, "db">,
  { jobId, plan, number }: Bought,
): Promise<void> {
  const { ownerId, createdAt, waitMs, runMs } = plan;
  const startMs = createdAt.getTime() + waitMs;
  const [google, fal] = offers;
  const common = { jobId, ownerId, keyId, model: "nano-banana", polls: 3 };
  const isSecond = number % 4 === 3;
  if (isSecond)
    await db.insert(providerAttempts).values({
      ...common,
      ...google,
      id: newId(),
      token: newId(),
      state: "failed",
      costUsd: 0,
      errorClass: "rate",
      errorMessage: "HTTP 429: too many requests",
      createdAt: new Date(startMs - 900),
      endedAt: new Date(startMs - 100),
    });
  const offer = isSecond ? fal : google;
  await db.insert(providerAttempts).values({
    ...common,
    ...offer,
    id: newId(),
    token: newId(),
    state: "succeeded",
    costUsd: offer.priceUsd,
    externalId: `seed-${number}`,
    createdAt: new Date(startMs),
    acceptedAt: new Date(startMs + 400),
    endedAt: new Date(startMs + runMs),
  });
}

interface Call {
  readonly runId: string;
  readonly ownerId: string;
  readonly stage: "analyzer" | "responder";
  readonly startedAt: Date;
}

/** A call of a language model that answered. */
export async function addModelCall(
  { db }: Pick<Services, "db">,
  { runId, ownerId, stage, startedAt }: Call,
): Promise<void> {
  const after = (ms: number) => new Date(startedAt.getTime() + ms);
  await db.insert(modelCalls).values({
    id: newId(),
    runId,
    ownerId,
    stage,
    try: 1,
    model: `${modelPrefix}${stage}`,
    promptVersion: 1,
    inputTokens: stage === "analyzer" ? 410 : 1_830,
    outputTokens: stage === "analyzer" ? 60 : 190,
    expectedUsd: 0.004,
    costUsd: 0.0021,
    startedAt,
    firstTextAt: after(320),
    endedAt: after(stage === "analyzer" ? 600 : 2_400),
  });
}

/** These rows outlive their users, as money that was spent does; nothing was spent for them. */
export async function removeSpending({ db }: Pick<Services, "db">): Promise<void> {
  await db.delete(providerAttempts).where(eq(providerAttempts.keyId, keyId));
  await db.delete(modelCalls).where(like(modelCalls.model, `${modelPrefix}%`));
}
