import type { InputRole, JobKind } from "../../engines.ts";
import { ingest, purgeImages } from "../../images/index.ts";
import {
  cancel,
  followJobs,
  forgetOwnKey,
  type JobView,
  submitTogether,
  takeInPicture,
} from "../../jobs/index.ts";
import { boundStream, streamLimits } from "../../live/index.ts";
import { AppError, lineOfText, newId, streamMs, takePlace } from "../../platform/index.ts";
import { asOneOfFew } from "../requests.ts";
import { bytesOfPicture } from "./picture-bodies.ts";
import type { Choice } from "./choices.ts";
import { type ClientInput, requireStillKey, untilRepeated } from "./route.ts";

/** A picture as a program gives it: its bytes, a file of the request, an address, or one that the studio has. */
export type GivenPicture =
  | { readonly bytes: Buffer | string; readonly name?: string }
  | { readonly url: string }
  | { readonly id: string };

/** Pictures that a program orders and waits for. They stay in the gallery of the key's owner. */
export interface Order {
  readonly kind: JobKind;
  /** Null: the studio chooses. */
  readonly choice: Choice | null;
  /** Settings that the run does not take are left out, and stand in the job's metadata. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly pictures: readonly { readonly role: InputRole; readonly picture: GivenPicture }[];
  readonly count: number;
  /** Of one picture; 0 keeps to what costs nothing. */
  readonly maxPriceUsd: number;
  /** Which program ordered, and after a colon what for, to find its jobs by. */
  readonly sessionId: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Throws when no job is wanted; called with the pictures by their roles before the first is stored, and after the last. */
  readonly requireWanted?: (inputs: Readonly<Record<string, string>>) => Promise<void>;
}

/** The jobs of an order, and the place of the caller that waits for them. */
export interface Placed {
  readonly ids: readonly string[];
  readonly giveBack: () => void;
}

const keySchema = lineOfText.min(1).max(150);
const keyHeader = "idempotency-key";

/**
 * Stores the pictures of an order and submits its jobs: all, or none. A repeated `Idempotency-Key` gives the jobs of the
 * first request. Throws what `ingest` and `submit` throw, and `rate_limited`.
 */
export async function placeOrder(input: ClientInput, order: Order): Promise<Placed> {
  const key = keySchema.optional().safeParse(input.request.headers.get(keyHeader) ?? undefined);
  if (!key.success) throw new AppError("bad_request", "The Idempotency-Key has at most 150 characters.");
  // Before the jobs: clients repeat a refused request, and would order them twice.
  const giveBack = takePlace(input.services, "stream", input.caller);
  try {
    return { ids: await submitAll(input, order, key.data), giveBack };
  } catch (error) {
    giveBack();
    throw error;
  }
}

async function submitAll(
  input: ClientInput,
  order: Order,
  key: string | undefined,
): Promise<readonly string[]> {
  const created: string[] = [];
  const own: OwnJob[] = [];
  try {
    const inputs = await takeInAll(input, order, created);
    await order.requireWanted?.(inputs);
    const asked = Array.from({ length: order.count }, (_, at) => oneOf(input, order, { inputs, at, key }));
    const ids = await submitTogether(input.services, asked);
    // Another request with the same key, earlier or at the same time, keeps its jobs.
    for (const [at, { options }] of asked.entries())
      if (ids[at] === options.newJobId) own.push({ id: options.newJobId, ownKey: options.ownKey });
    await order.requireWanted?.(inputs);
    return ids;
  } catch (error) {
    for (const job of own) await takeBack(input, job);
    // Pictures that a job uses stay.
    await purgeImages(input.services, created);
    throw error;
  }
}

async function takeInAll(
  input: ClientInput,
  { pictures }: Order,
  created: string[],
): Promise<Record<string, string>> {
  const inputs: Record<string, string> = {};
  for (const { role, picture } of pictures) {
    const image = "id" in picture ? { ...picture, created: false } : await takeIn(input, role, picture);
    if (image.created) created.push(image.id);
    inputs[role] = image.id;
  }
  return inputs;
}

function takeIn(
  { services, caller, request: { signal } }: ClientInput,
  role: InputRole,
  picture: Exclude<GivenPicture, { readonly id: string }>,
) {
  if ("url" in picture)
    return asOneOfFew({ services, caller }, "fetch", () =>
      takeInPicture(services, { role, url: picture.url }, { submitter: caller, signal }),
    );
  const kept = role === "mask" ? "mask" : "upload";
  return ingest(services, { ownerId: caller.userId, role: kept, signal, ...picture });
}

/** A job that this request has stored. */
interface OwnJob {
  readonly id: string;
  readonly ownKey: string | undefined;
}

/** Cancels a job of this order, after its key is gone: a repeated request then makes a new job and never finds a cancelled one. */
async function takeBack(input: ClientInput, { id, ownKey }: OwnJob): Promise<void> {
  const { services, caller } = input;
  if (ownKey !== undefined)
    await forgetOwnKey(services, { ownerId: caller.userId, ownKey, jobId: id }).catch((error: unknown) =>
      services.log.warn({ err: error, jobId: id }, "key of a job that is taken back not removed"),
    );
  await cancelQuietly(input, id);
}

const keyOf = ({ sessionId }: Order, key: string, at: number) => `${sessionId.split(":", 1)[0]} ${key} ${at}`;

interface One {
  readonly inputs: Readonly<Record<string, string>>;
  readonly at: number;
  readonly key: string | undefined;
}

function oneOf({ caller }: ClientInput, order: Order, { inputs, at, key }: One) {
  const { kind, choice, params, maxPriceUsd, sessionId, metadata } = order;
  const { seed } = params;
  const own = { ...choice?.settings, ...params, ...(typeof seed === "number" ? { seed: seed + at } : {}) };
  const request = {
    kind,
    ...choice?.named,
    inputs,
    params: own,
    sessionId,
    metadata,
    agreed: { maxPriceUsd },
  };
  const ownKey = key === undefined ? undefined : keyOf(order, key, at);
  // These programs do not know which settings a workflow takes, and in which range.
  return { request, options: { submitter: caller, keepsUnused: true, ownKey, newJobId: newId() } };
}

/** Cancels a job that has no reader any more. */
export async function cancelQuietly(
  { services, caller }: Pick<ClientInput, "services" | "caller">,
  id: string,
): Promise<void> {
  try {
    await cancel(services, { ownerId: caller.userId, id });
  } catch (error) {
    services.log.warn({ err: error, jobId: id }, "job of a client that left not cancelled");
  }
}

interface Following {
  readonly ids: readonly string[];
  readonly signal: AbortSignal;
  readonly wantsLive: boolean;
  /** The jobs go on when the client leaves, or its time is over. */
  readonly goesOn: boolean;
}

/**
 * What happens to the jobs of an order until all have ended; jobs that are open when the reader leaves are cancelled. Throws
 * `unauthorized` once the key is over.
 */
export async function* followOrder(
  input: Pick<ClientInput, "services" | "caller" | "request">,
  { ids, signal, wantsLive, goesOn }: Following,
): ReturnType<typeof followJobs> {
  const { services, caller } = input;
  const open = new Set(ids);
  try {
    const steps = followJobs(services, { ownerId: caller.userId, ids, signal, wantsLive });
    const isAllowed = () => requireStillKey(input);
    for await (const step of boundStream(steps, { ...streamLimits, isAllowed })) {
      if (step?.type === "ended") open.delete(step.job.id);
      yield step;
    }
  } finally {
    if (!goesOn) for (const id of open) await cancelQuietly(input, id);
  }
}

/** Below the ten minutes after which most programs give up by themselves. */
const maxWaitMs = 570_000;

export interface Patience {
  /** The request is answered without pictures when its time is over. */
  readonly answersLater: boolean;
  /** The jobs go on when the client leaves, or its time is over: it asked for that, or a repeated key has to find them. */
  readonly goesOn: boolean;
  readonly waitMs: number;
}

/** How long a request waits: `Prefer: respond-async` leaves the jobs alone when it ends before them, `wait=N` says when. */
export function patienceOf({
  services,
  request,
  startedAtMs,
}: Pick<ClientInput, "services" | "request" | "startedAtMs">): Patience {
  const prefer = request.headers.get("prefer") ?? "";
  const answersLater = /(?:^|[,;\s])respond-async(?:$|[,;\s])/i.test(prefer);
  const [, seconds] = /(?:^|[,;\s])wait=(\d{1,6})/i.exec(prefer) ?? [];
  const askedMs = answersLater && seconds !== undefined ? Number(seconds) * 1_000 : maxWaitMs;
  const longestMs = Math.min(askedMs, maxWaitMs, streamMs(services.env));
  const waitMs = Math.max(0, Math.ceil(startedAtMs + longestMs - performance.now()));
  return { answersLater, goesOn: answersLater || request.headers.has(keyHeader), waitMs };
}

/**
 * The jobs of an order once all have completed, in its order; null when the time is over and the request wants to be
 * answered then. Throws the error of the first that failed, after which the others are cancelled unless they go on, and `engine_timeout`.
 */
export async function awaitOrder(
  input: ClientInput,
  { ids, giveBack }: Placed,
  wantsLive = false,
): Promise<readonly JobView[] | null> {
  const { request } = input;
  const { answersLater, goesOn, waitMs } = patienceOf(input);
  const late = AbortSignal.timeout(Math.min(waitMs, untilRepeated(input)));
  const signal = AbortSignal.any([request.signal, late]);
  const done = new Map<string, JobView>();
  try {
    for await (const step of followOrder(input, { ids, signal, wantsLive, goesOn }))
      if (step?.type === "ended") done.set(step.job.id, requireCompleted(step.job));
  } finally {
    giveBack();
  }
  if (done.size === ids.length) return ids.flatMap((id) => done.get(id) ?? []);
  if (request.signal.aborted) throw new AppError("bad_request", "The client has left.");
  if (answersLater) return null;
  throw lateError(goesOn);
}

export function lateError(goesOn: boolean): AppError {
  const rest = goesOn
    ? "they go on: ask for their jobs, or repeat the request with its Idempotency-Key"
    : "they are cancelled";
  return new AppError("engine_timeout", `The pictures were not done in the time of the request; ${rest}.`);
}

/** Throws the error of a job without a result. */
export function requireCompleted(job: JobView): JobView {
  if (job.status === "completed") return job;
  throw job.error
    ? new AppError(job.error.code, job.error.message)
    : new AppError("conflict", "The job was cancelled.");
}

/** The picture of a completed job. */
export function outputOf({ outputs: [output] }: JobView): JobView["outputs"][number] {
  if (!output) throw new AppError("internal", "The job has no picture.");
  return output;
}

/** Settings that the run did not take as they were asked, one sentence each. */
export function unusedNotes(
  asked: Readonly<Record<string, unknown>>,
  { params }: JobView,
): readonly string[] {
  return Object.entries(asked)
    .filter(([name, value]) => value !== undefined && name !== "seed" && params[name] !== value)
    .map(([name, value]) => {
      const used = params[name];
      const instead = used === undefined ? "it has none" : `${JSON.stringify(used)} was used`;
      return `${name} ${JSON.stringify(value)} is not taken by the model: ${instead}.`;
    });
}

/** Throws nothing for a picture of a data address, bare base64, another address or an id of the studio. */
export function pictureOfText(text: string, isId: (text: string) => boolean): GivenPicture {
  const plain = text.trim();
  if (/^https?:\/\//i.test(plain)) return { url: plain };
  return isId(plain) ? { id: plain } : { bytes: bytesOfPicture(plain) };
}
