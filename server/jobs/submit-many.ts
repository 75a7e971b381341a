import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "drizzle-orm";
import type { Agreed, Tx } from "../db/index.ts";
import { type InputRole, jobKinds, requiredInputs } from "../engines.ts";
import { AppError, isAppError } from "../platform/index.ts";
import { dollars, isWithinUsd } from "../providers/index.ts";
import { noteAccepted, withOwnMemory } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { type AcceptRules, type KnownJob, rulesFor } from "./admission.ts";
import { agreementTo, type CloudQuote, readCloudQuote } from "./agreement.ts";
import { type NewJob, prepare, type SubmitOptions, type Submitter } from "./draft.ts";
import type { NewInput } from "./pictures.ts";
import { sizeAfter } from "./shape.ts";
import { draftOf, refusedBy, type StoredJob, storeJob } from "./submit.ts";

/** A job with the place that it would get, and what a provider would charge. */
interface Priced {
  readonly job: NewJob;
  /** Where a provider would get the pictures; null for own machines. */
  readonly cloud: CloudQuote | null;
}

/** A further request of a place: it begins when the job before it has completed, whose result is its picture `role`. */
interface OrderedStep extends Priced {
  readonly role: InputRole;
}

/** A job of an order with the place that it would get behind those before it, and what runs on its result. */
export interface OrderedJob extends Priced {
  readonly steps: readonly OrderedStep[];
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

/** A request with those that run on its result, one after another. */
export interface AskedJob {
  readonly request: unknown;
  readonly steps: readonly Readonly<Record<string, unknown>>[];
}

interface OrderInput {
  readonly requests: readonly AskedJob[];
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
  const options: SubmitOptions = { submitter, lists: new Map() };
  const jobs: OrderedJob[] = [];
  const refused: RefusedJob[] = [];
  for (const [position, { request, steps: asked }] of requests.entries()) {
    signal.throwIfAborted();
    try {
      // What is in memory by now is answered without a turn for others.
      await nextTurn();
      const first = await priced(planning, await prepare(planning, draftOf(planning, request, options)));
      const steps: OrderedStep[] = [];
      for (const step of asked) {
        const before = steps.at(-1)?.job ?? first.job;
        steps.push(await prepareStep(planning, { step, before, number: steps.length + 1 }));
      }
      jobs.push({ ...first, steps });
    } catch (error) {
      if (!isAppError(error)) throw error;
      refused.push({ position, error });
    }
  }
  return { jobs, refused };
}

async function priced(planning: Services, job: NewJob): Promise<Priced> {
  const { placed, share } = job.quote;
  const { wait } = placed;
  const { model, need } = placed.candidate;
  noteAccepted(planning.db, { queue: placed.queue, need, cost: wait.cost, share, isQueued: false });
  const cloud = model ? await readCloudQuote(planning.db, { model, params: job.row.params }) : null;
  return { job, cloud };
}

interface StepInput {
  readonly step: Readonly<Record<string, unknown>>;
  readonly before: NewJob;
  readonly number: number;
}

/** Checks a step as if the result before it were there, and binds it to its price of now: nobody looks when it begins. */
async function prepareStep(planning: Services, { step, before, number }: StepInput): Promise<OrderedStep> {
  const { submitter, lists } = before.options;
  try {
    const role = firstRoleOf(step, before);
    const result = standInFor(before);
    const inputs = { ...Object(step["inputs"]), [role]: result.id };
    const request = { ...step, inputs };
    const isPass = step["kind"] === "outfit_change" && before.request.kind === "outfit_change";
    const newInputs = { images: [result], insert: () => Promise.resolve() };
    const job = await prepare(planning, draftOf(planning, request, { submitter, lists, newInputs, isPass }));
    return { ...bind(await priced(planning, job)), role };
  } catch (error) {
    if (!isAppError(error)) throw error;
    const { code, message, details, cause } = error;
    throw new AppError(code, `Step ${number}: ${message}`, { details: { ...details, step: number }, cause });
  }
}

/** The input that gets the result of the job before. Throws `bad_request` where there is none, or it is given. */
function firstRoleOf(step: Readonly<Record<string, unknown>>, before: NewJob): InputRole {
  const kind = jobKinds.find((name) => name === step["kind"]);
  const [role] = kind ? requiredInputs(kind) : [];
  if (role === undefined) throw new AppError("bad_request", "It must be of a kind that takes a picture.");
  if (role in Object(step["inputs"]))
    throw new AppError("bad_request", `Leave out "${role}": it is the result of the job before.`);
  if (before.request.kind === "segment")
    throw new AppError("bad_request", "The job before makes a mask, which is no picture to go on with.");
  if (before.request.retention === "ephemeral")
    throw new AppError("bad_request", "The job before must keep its result.");
  return role;
}

/** Of pictures that say nothing of their size. */
const usualSidePx = 1_024;

/** The result of a job that has not run, as far as it can be told. */
function standInFor({ id, request, inputs, options }: NewJob): NewInput {
  const { submitter } = options;
  const after = sizeAfter(request, inputs);
  const { width, height }: { width?: number | undefined; height?: number | undefined } =
    "width" in request.params ? request.params : {};
  return {
    id,
    ownerId: submitter.userId,
    role: "result",
    widthPx: width ?? after?.widthPx ?? usualSidePx,
    heightPx: height ?? after?.heightPx ?? usualSidePx,
    storedSha256: "",
    isToCome: true,
  };
}

/** All that a provider may be paid for. */
const partsOf = (jobs: readonly OrderedJob[]): readonly Priced[] =>
  jobs.flatMap((job) => [job, ...job.steps]);

/** The most that the jobs and their steps may cost together, US dollars; null where one of them has no known price. */
export function priceOf(jobs: readonly OrderedJob[]): number | null {
  return partsOf(jobs)
    .map(priceOfOne)
    .reduce<number | null>((sum, price) => (sum === null || price === null ? null : sum + price), 0);
}

export const priceOfOne = (one: Priced): number | null => boundOf(one)?.maxPriceUsd ?? null;

/** Those that a provider would get. */
export const cloudPartsOf = (jobs: readonly OrderedJob[]): readonly CloudQuote[] =>
  partsOf(jobs).flatMap(({ cloud }) => cloud ?? []);

/** What the request names itself, else what its quote says. */
function boundOf({ job, cloud }: Priced): Agreed | null {
  return job.request.agreed ?? agreementTo(cloud);
}

function bind<One extends Priced>(one: One): One {
  const agreed = boundOf(one) ?? undefined;
  const { job } = one;
  return { ...one, job: { ...job, request: { ...job.request, agreed }, row: { ...job.row, agreed } } };
}

/**
 * Binds each job to its price: none of them may cost more later, whatever provider takes it. Throws `not_agreed` where
 * together they may cost more than `maxPriceUsd`, or where a price is not known.
 */
export function bindPrices(jobs: readonly OrderedJob[], maxPriceUsd: number): readonly OrderedJob[] {
  const priceUsd = priceOf(jobs);
  if (priceUsd === null || !isWithinUsd(priceUsd, maxPriceUsd)) {
    const price = priceUsd === null ? "an amount that is not known" : `up to ${dollars(priceUsd)}`;
    throw new AppError(
      "not_agreed",
      `Together the jobs would cost ${price} now, but it was agreed to ${dollars(maxPriceUsd)}. Nothing was started.`,
      { details: { priceUsd, maxPriceUsd } },
    );
  }
  return jobs.map(bind);
}

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
    const answer = await storeOneOf(tx, job, { rules, count: jobs.length });
    if (!("job" in answer)) throw new AppError("internal", "A job of an order has no key of its own.");
    stored.push(answer);
  }
  return stored;
}

/** Stores one of `count` jobs in the caller's transaction, unless its key has its job. Throws what `submit` throws. */
export async function storeOneOf(
  tx: Tx,
  job: NewJob,
  { rules, count }: { readonly rules: AcceptRules; readonly count: number },
): Promise<StoredJob | KnownJob> {
  const answer = await storeJob(tx, job, rules);
  if (answer.outcome === "known") return answer.detail;
  if (answer.outcome === "open_jobs" && count > 1) throw tooManyOpen(count, rules.maxOpen);
  if (answer.outcome !== "accepted") throw refusedBy(answer, rules);
  return { job, answer };
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
