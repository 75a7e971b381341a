import { sql } from "drizzle-orm";
import {
  type Attempt,
  attemptFromRow,
  chainOf,
  type CloudModel,
  type ChainFacts,
  type Intent,
  isOpenState,
  mayBuy,
  type ModelOffer,
  offersFor,
  type ProviderKey,
  readFacts,
  reserve,
} from "../providers/index.ts";
import { schema } from "../db/index.ts";
import { backoffMs } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { amend, heldBy, hint, type Job, type Lease } from "./job.ts";

/** A job that a worker is about to hand to a provider. */
export interface CloudRun {
  readonly job: Job;
  readonly lease: Lease;
  readonly model: CloudModel;
  /** The keys of this process. */
  readonly keys: readonly ProviderKey[];
}

/** The next step of a job along its chain. */
export type NextHop =
  /** The intent is stored: call the provider now. */
  | {
      readonly kind: "call";
      readonly attempt: Attempt;
      readonly offer: ModelOffer;
      readonly key: ProviderKey;
    }
  /** Each provider that is left is at a limit or cools down. */
  | { readonly kind: "wait"; readonly waitMs: number; readonly skipped: readonly Skipped[] }
  /** Each provider has failed, or would cost more than was agreed. */
  | { readonly kind: "exhausted"; readonly failed: readonly Attempt[]; readonly dearer: readonly string[] }
  /** The lease is no longer current. */
  | { readonly kind: "fenced" };

/** A provider that was passed over, and why. */
export interface Skipped {
  readonly provider: string;
  readonly why: "busy" | "rate" | "cooldown";
}

class Fenced extends Error {}

/**
 * Finds the first provider of the chain that has not failed this job and has room for it, and stores the intent to call
 * it: one statement reads all that is needed, one stores. Throws `budget_exceeded`.
 */
export async function nextHop(services: Services, run: CloudRun): Promise<NextHop> {
  const { db, config } = services;
  const { job, lease, model, keys } = run;
  const facts = await readFacts(db, config, { jobId: job.id, ownerId: job.ownerId, keys });
  const open = facts.attempts.find(({ state }) => isOpenState(state));
  if (open) return adopt(services, lease, open);
  const failed = facts.attempts.filter((attempt) => attempt.state === "failed" && saysOf(attempt, model));
  const waits: number[] = [];
  const skipped: Skipped[] = [];
  const dearer: string[] = [];
  for (const offer of offersFor(chainOf(facts, model), job.params)) {
    const own = keys.filter(({ provider }) => provider === offer.provider);
    if (own.length === 0 || hasFailed(failed, offer.provider)) continue;
    if (!mayBuy(job.agreed, offer.priceUsd)) {
      dearer.push(offer.provider);
      continue;
    }
    const reserved = await reserveFor(services, { ...run, keys: own }, { offer, skipped, facts });
    if (reserved === null) return { kind: "fenced" };
    if ("attempt" in reserved) return { kind: "call", offer, ...reserved };
    waits.push(reserved.busy.waitMs);
    skipped.push({ provider: offer.provider, why: reserved.busy.why });
  }
  if (waits.length === 0) return { kind: "exhausted", failed, dearer };
  const pauseMs = failed.length > 0 ? await readPauseMs(services, job.id) : 0;
  return { kind: "wait", waitMs: Math.max(pauseMs, Math.min(...waits)), skipped };
}

const longestPauseMs = 60_000;

/**
 * How long a job waits that some provider has failed: the others of its model may have room all the time, so that it is
 * claimed at once, finds only its own busy ones and writes four events, each time. So each wait is twice the one before.
 */
async function readPauseMs({ db }: Services, jobId: string): Promise<number> {
  const { jobEvents } = schema;
  const waits = await db.$count(
    jobEvents,
    sql`${jobEvents.jobId} = ${jobId} and ${jobEvents.type} = 'providers_busy'`,
  );
  return backoffMs(waits + 1, { firstMs: 1_000, mostMs: longestPauseMs });
}

/** A provider has the job, or may have it: nothing is called, and the job belongs to that attempt again. */
async function adopt(services: Services, lease: Lease, attempt: Attempt): Promise<NextHop> {
  const job = await amend(services.db, {
    where: sql`${heldBy(lease)} and status = 'processing'`,
    set: { providerAttemptId: attempt.id, nodeId: null, server: attempt.provider, stage: "reconciling" },
    event: "provider_lost",
    data: { provider: attempt.provider },
  });
  if (job) hint(services, [job]);
  return { kind: "fenced" };
}

/** What a failure with another model says of the provider with this one: nothing, when the model or the content was its cause. */
const ofTheModel: readonly string[] = ["input", "moderation", "gate", "unstored", "internal"];

function saysOf({ model: tried, errorClass }: Attempt, { id }: CloudModel): boolean {
  return tried === id || !ofTheModel.includes(errorClass ?? "internal");
}

/** Failures of these classes do not count against a provider, up to so many for one job. */
const forgiven: Readonly<Record<string, number>> = { rate: 10, capacity: 10, unsent: 3 };

/** A provider that was too busy is asked again after its pause, as is one that a request never reached. */
function hasFailed(failed: readonly Attempt[], provider: string): boolean {
  const own = failed.filter((attempt) => attempt.provider === provider);
  const counts = new Map<string, number>();
  for (const { errorClass } of own) {
    const name = errorClass ?? "internal";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].some(([name, count]) => count >= (forgiven[name] ?? 1));
}

interface Hop {
  readonly offer: ModelOffer;
  readonly skipped: readonly Skipped[];
  readonly facts: ChainFacts;
}

/** Null when the lease is lost. */
async function reserveFor(
  services: Services,
  { job, lease, model, keys }: CloudRun,
  { offer, skipped, facts }: Hop,
) {
  const { id: jobId, ownerId, agreed } = job;
  const reservation = { jobId, ownerId, nodeId: lease.nodeId, model: model.id, offer, agreed, keys, facts };
  const data = { provider: offer.provider, ...(skipped.length > 0 ? { skipped } : {}) };
  try {
    return await reserve(services.db, services.config, reservation, (intent) =>
      tryProvider(services, { job, lease, data }, intent),
    );
  } catch (error) {
    if (error instanceof Fenced) return null;
    throw error;
  }
}

interface Trial {
  readonly job: Job;
  readonly lease: Lease;
  /** Of the event. */
  readonly data: object;
}

interface TrialRow extends Record<string, unknown> {
  readonly outcome: "stored" | "old" | "fenced";
  readonly revision: number;
  readonly attempt: Record<string, unknown>;
}

/** Calls `try_provider`: the attempt, the job that waits for it and the event in one round trip. Throws `Fenced`. */
async function tryProvider(
  services: Services,
  { job, lease, data }: Trial,
  { attempt, seen }: Intent,
): Promise<Attempt | null> {
  const json = (value: object) => sql`${JSON.stringify(value)}::jsonb`;
  const [row] = await services.db.execute<TrialRow>(
    sql`select * from try_provider(${json(lease)}, ${json(data)}, ${json(attempt)}, ${json(seen)})`,
  );
  if (row?.outcome === "old") return null;
  if (row?.outcome !== "stored") throw new Fenced();
  hint(services, [{ id: job.id, ownerId: job.ownerId, revision: row.revision }]);
  return attemptFromRow(row.attempt);
}
