import { createHash } from "node:crypto";
import { and, eq, isNull } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import { requireWebhookUrl } from "../deliveries/index.ts";
import { checkGuestSpace } from "../images/index.ts";
import {
  announce,
  bindPrices,
  cloudPartsOf,
  type CloudQuote,
  findBegun,
  lockSubmits,
  type Order,
  ownKeyName,
  prepareMany,
  priceOf,
  type RequestKey,
  storeMany,
  type Submitter,
} from "../jobs/index.ts";
import { AppError, type ErrorCode, inSpan, newId, type SpanStart, oneAtATime } from "../platform/index.ts";
import { toEstimate } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { addressesIn, withFetched } from "./addresses.ts";
import { type BatchRequest, parseBatch } from "./request.ts";
import { storeSteps } from "./steps.ts";

interface BatchOptions {
  readonly submitter: Submitter;
  readonly idempotencyKey?: string | undefined;
  readonly signal: AbortSignal;
  /** Bounds what is fetched at once. Without it pictures are ids alone, and an address is `bad_request`. */
  readonly inPlace?: <T>(work: () => Promise<T>) => Promise<T>;
}

export interface SubmittedBatch {
  readonly id: string;
  /** In the order of the batch. */
  readonly jobIds: readonly string[];
}

/**
 * Accepts all jobs of a batch in one transaction, or none. They count as the owner's jobs, so the fair pick treats other users as before.
 * Pictures that are addresses are fetched first, each once; when the batch is refused, those that were new are removed again.
 * Throws `bad_request`, what `submit` and the fetch of a picture throw for one of the jobs (`details.position` names it), `not_agreed`,
 * `idempotency_mismatch`, and `conflict` where the batch of the key was removed.
 */
export async function submitBatch(
  services: Services,
  input: unknown,
  options: BatchOptions,
): Promise<SubmittedBatch> {
  const batch = parseBatch(input);
  if (batch.webhookUrl !== undefined) requireWebhookUrl(services, batch.webhookUrl);
  const key = keyOf(batch, options);
  const known = key && (await findKnown(services.db, key));
  if (known) return known;
  const addresses = addressesIn(batch);
  const acceptThis = (own: BatchRequest) => {
    const start: SpanStart = { kind: "server", attributes: { "atelier.batch.jobs": own.requests.length } };
    return inSpan(services.tracing, "accept batch", start, () =>
      accept(services, { batch: own, key }, options),
    );
  };
  if (addresses.size === 0 || !options.inPlace) return acceptThis(batch);
  return options.inPlace(() => withFetched(services, { batch, addresses, options }, acceptThis));
}

interface Asked {
  readonly batch: BatchRequest;
  readonly key: RequestKey | null;
}

async function accept(
  services: Services,
  { batch, key }: Asked,
  options: BatchOptions,
): Promise<SubmittedBatch> {
  const order = await prepareMany(services, { ...options, requests: batch.requests });
  requireAll(order, batch);
  const priced = batch.maxPriceUsd === undefined ? order.jobs : bindPrices(order.jobs, batch.maxPriceUsd);
  const jobs = priced.map(({ job }) => job);
  const { userId: ownerId, isGuest } = options.submitter;
  if (isGuest) await checkGuestSpace(services.db, services.config);
  const id = newId();
  const accepted = await oneAtATime(`submit of ${ownerId}`, () =>
    services.db.transaction(async (tx) => {
      await lockSubmits(tx, ownerId);
      // Asked again under the lock: the same request may have been accepted meanwhile.
      const first = key && (await findKnown(tx, key));
      if (first) return { first };
      const stored = await storeMany(tx, services, jobs);
      await storeBatch(tx, {
        id,
        ownerId,
        batch,
        key,
        jobIds: jobs.map((job) => job.id),
        maxPriceUsd: priceOf(priced),
      });
      await storeSteps(tx, id, priced);
      return { first: null, stored };
    }),
  );
  if (accepted.first) return accepted.first;
  announce(services, accepted.stored);
  services.log.info({ batchId: id, jobs: jobs.length }, "batch accepted");
  return { id, jobIds: jobs.map((job) => job.id) };
}

/** Throws the first refusal, under the number that people count by. */
function requireAll({ refused }: Order, { axes }: BatchRequest): void {
  const [first] = refused;
  if (!first) return;
  const { message, details } = first.error;
  // The body itself was right: what base and axes make together is not.
  const code = axes !== null && first.error.code === "bad_request" ? "workflow_params" : first.error.code;
  throw new AppError(code, `Job ${first.position + 1}: ${message}`, {
    details: { ...details, position: first.position, refused: refused.length },
    cause: first.error,
  });
}

function keyOf(batch: BatchRequest, { submitter, idempotencyKey }: BatchOptions): RequestKey | null {
  if (idempotencyKey === undefined) return null;
  // What is to be made, not the bounds of its price.
  const { requests, axes, title, webhookUrl } = batch;
  const asked = requests.map(({ request, steps }) =>
    steps.length === 0 ? request : { ...Object(request), steps },
  );
  const text = JSON.stringify([asked, axes, title ?? null, webhookUrl ?? null]);
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { ownerId: submitter.userId, name: ownKeyName(`batch:${idempotencyKey}`), sha256 };
}

async function findKnown(db: Db | Tx, key: RequestKey): Promise<SubmittedBatch | null> {
  const { batches, batchJobs } = schema;
  const id = await findBegun(db, key);
  if (id === null) return null;
  if ((await db.$count(batches, and(eq(batches.id, id), isNull(batches.deletedAt)))) === 0)
    throw new AppError(
      "conflict",
      "The batch of this Idempotency-Key was removed. Use a new key to run it again.",
    );
  const places = await db
    .select({ jobId: batchJobs.jobId })
    .from(batchJobs)
    .where(eq(batchJobs.batchId, id))
    .orderBy(batchJobs.position);
  return { id, jobIds: places.map(({ jobId }) => jobId) };
}

interface StoreInput {
  readonly id: string;
  readonly ownerId: string;
  readonly batch: BatchRequest;
  readonly key: RequestKey | null;
  readonly jobIds: readonly string[];
  readonly maxPriceUsd: number | null;
}

async function storeBatch(
  tx: Tx,
  { id, ownerId, batch, key, jobIds, maxPriceUsd }: StoreInput,
): Promise<void> {
  const { title, axes, webhookUrl } = batch;
  await tx
    .insert(schema.batches)
    .values({ id, ownerId, title, axes, size: jobIds.length, webhookUrl, maxPriceUsd });
  await tx
    .insert(schema.batchJobs)
    .values(jobIds.map((jobId, position) => ({ batchId: id, position, jobId })));
  if (key)
    await tx
      .insert(schema.idempotencyKeys)
      .values({ ownerId, key: key.name, requestSha256: key.sha256, jobId: id });
}

/** What a batch would cost and take now. Times in ms, US dollars. */
export interface BatchEstimate {
  readonly jobs: number;
  readonly refused: readonly {
    readonly position: number;
    readonly code: ErrorCode;
    readonly message: string;
  }[];
  /** Jobs and steps that a provider would get. */
  readonly cloudJobs: number;
  /** The first of those providers' quotes; null where own machines make all. */
  readonly cloud: CloudQuote | null;
  /** The most that all of them may cost; null where one has no known price. */
  readonly maxPriceUsd: number | null;
  /** Until the last one is done; null where none can run, or one waits for what is away. */
  readonly doneMs: readonly [low: number, high: number] | null;
}

type AskedJob = BatchRequest["requests"][number];

/** An estimate is no order and needs no statement about a photo, but tells that a request denies it. */
function unlessDenied(asked: AskedJob): AskedJob {
  const { request } = asked;
  if (typeof request !== "object" || request === null || !("kind" in request)) return asked;
  if (request.kind !== "outfit_change") return asked;
  const params = "params" in request ? Object(request.params) : {};
  return { ...asked, request: { ...request, params: { consent: true, ...params } } };
}

/** Places all jobs of a batch without storing anything. Throws `bad_request` for the batch itself. */
export async function estimateBatch(
  services: Services,
  input: unknown,
  options: Pick<BatchOptions, "submitter" | "signal">,
): Promise<BatchEstimate> {
  const requests = parseBatch(input).requests.map(unlessDenied);
  const { jobs, refused } = await prepareMany(services, { ...options, requests });
  const clouds = cloudPartsOf(jobs);
  return {
    jobs: requests.length,
    refused: refused.map(({ position, error: { code, message } }) => ({ position, code, message })),
    cloudJobs: clouds.length,
    cloud: clouds[0] ?? null,
    maxPriceUsd: priceOf(jobs),
    doneMs: doneOf(jobs),
  };
}

function doneOf(jobs: Order["jobs"]): BatchEstimate["doneMs"] {
  const chains = jobs.map(({ job, steps }) => [job, ...steps.map((step) => step.job)].map(estimateOf));
  if (chains.length === 0 || chains.flat().some(({ isLive }) => !isLive)) return null;
  const last = (at: 0 | 1) =>
    Math.max(
      ...chains.map((chain) =>
        chain.reduce(
          (sum, { waitMs, runMs }, number) => sum + (number === 0 ? waitMs[at] : 0) + runMs[at],
          0,
        ),
      ),
    );
  return [last(0), last(1)];
}

const estimateOf = ({ quote }: Order["jobs"][number]["job"]) => toEstimate(quote.placed.wait);
