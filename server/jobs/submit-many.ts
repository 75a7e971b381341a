import { sql } from "drizzle-orm";
import type { Agreed, Tx } from "../db/index.ts";
import { AppError, isAppError } from "../platform/index.ts";
import { dollars } from "../providers/index.ts";
import { noteAccepted, withOwnMemory } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { rulesFor } from "./admission.ts";
import { agreementTo, type CloudQuote, readCloudQuote } from "./agreement.ts";
import { type NewJob, prepare, type Submitter } from "./draft.ts";
import { draftOf, refusedBy, type StoredJob, storeJob } from "./submit.ts";

/** A job of an order with the place that it would get behind those before it. */
export interface OrderedJob {
  readonly job: NewJob;
  /** Where a provider would get the pictures; null for own machines. */
  readonly cloud: CloudQuote | null;
}

/** A request of an order that cannot be accepted now. */
interface RefusedJob {
  readonly position: number;
  readonly error: AppError;
}

export interface Order {
  readonly jobs: readonly OrderedJob[];
  readonly refused: readonly RefusedJob[];
}

interface OrderInput {
  readonly requests: readonly unknown[];
  readonly submitter: Submitter;
  readonly signal: AbortSignal;
}

/**
 * Chooses the places of many requests, one after another, so that each job counts the work of those before it. Stores
 * nothing; what is in the way of one request does not hold up the others.
 */
export async function prepareMany(services: Services, input: OrderInput): Promise<Order> {
  const { requests, submitter, signal } = input;
  const planning: Services = { ...services, db: withOwnMemory(services.db) };
  const jobs: OrderedJob[] = [];
  const refused: RefusedJob[] = [];
  for (const [position, request] of requests.entries()) {
    signal.throwIfAborted();
    try {
      jobs.push(await prepareOne(planning, request, submitter));
    } catch (error) {
      if (!isAppError(error)) throw error;
      refused.push({ position, error });
    }
  }
  return { jobs, refused };
}

async function prepareOne(planning: Services, request: unknown, submitter: Submitter): Promise<OrderedJob> {
  const job = await prepare(planning, draftOf(planning, request, { submitter }));
  const { placed, wait, share } = job.quote;
  const { model, need } = placed.candidate;
  noteAccepted(planning.db, { queue: placed.queue, need, cost: wait.cost, share, isQueued: false });
  const cloud = model ? await readCloudQuote(planning.db, { model, params: job.row.params }) : null;
  return { job, cloud };
}

/** The most that the jobs may cost together, US dollars; null where one of them has no known price. */
export function priceOf(jobs: readonly OrderedJob[]): number | null {
  const prices = jobs.map((job) => boundOf(job)?.maxPriceUsd ?? null);
  return prices.reduce<number | null>(
    (sum, price) => (sum === null || price === null ? null : sum + price),
    0,
  );
}

/** What the request names itself, else what its quote says. */
function boundOf({ job, cloud }: OrderedJob): Agreed | null {
  return job.request.agreed ?? agreementTo(cloud);
}

/**
 * Binds each job to its price: none of them may cost more later, whatever provider takes it. Throws `not_agreed` where
 * together they may cost more than `maxPriceUsd`, or where a price is not known.
 */
export function bindPrices(jobs: readonly OrderedJob[], maxPriceUsd: number): readonly OrderedJob[] {
  const priceUsd = priceOf(jobs);
  if (priceUsd === null || priceUsd > maxPriceUsd + roundingUsd) {
    const price = priceUsd === null ? "an amount that is not known" : `up to ${dollars(priceUsd)}`;
    throw new AppError(
      "not_agreed",
      `Together the jobs would cost ${price} now, but it was agreed to ${dollars(maxPriceUsd)}. Nothing was started.`,
      { details: { priceUsd, maxPriceUsd } },
    );
  }
  return jobs.map((ordered) => {
    const agreed = boundOf(ordered) ?? undefined;
    const { job, cloud } = ordered;
    return { cloud, job: { ...job, request: { ...job.request, agreed }, row: { ...job.row, agreed } } };
  });
}

/** Sums of prices such as 0.1 + 0.2 are a little above what they should be. */
const roundingUsd = 1e-9;

/** Stores all jobs in the caller's transaction, which must be rolled back when this throws what `submit` throws. */
export async function storeMany(
  tx: Tx,
  { config }: Services,
  jobs: readonly NewJob[],
): Promise<readonly StoredJob[]> {
  const isGuest = jobs[0]?.options.submitter.isGuest === true;
  const all = rulesFor(config, isGuest);
  const { maxBytes: _checkedOnce, ...others } = all;
  const stored: StoredJob[] = [];
  for (const job of jobs) {
    // Whether the account's storage is full is the same for all of them.
    const rules = stored.length === 0 ? all : others;
    const answer = await storeJob(tx, job, rules);
    if (answer.outcome === "open_jobs") throw tooManyOpen(jobs.length, rules.maxOpen);
    if (answer.outcome === "known")
      throw new AppError("internal", "A job of an order has no key of its own.");
    if (answer.outcome !== "accepted") throw refusedBy(answer, rules);
    stored.push({ job, answer });
  }
  return stored;
}

function tooManyOpen(count: number, maxOpen: number): AppError {
  return new AppError(
    "quota_exceeded",
    `These are ${count} jobs, and you may have ${maxOpen} open jobs at a time. Nothing was started: send fewer, or wait until some are done.`,
  );
}

/** Submits of one owner take turns until the end of the transaction. */
export async function lockSubmits(tx: Tx, ownerId: string): Promise<void> {
  await tx.execute(sql`select lock_submits(${ownerId})`);
}
