import { type Asked, type Db, type PromptTemplate, tiers, type Tx } from "../db/index.ts";
import { keptListed } from "../nodes/index.ts";
import { AppError, currentRequestId, currentTraceparent, isAppError } from "../platform/index.ts";
import { composePrompts, type KnownLists } from "../presets/index.ts";
import { type Caller, hasRight, requireRight } from "../accounts/plain.ts";
import { isConsentStored } from "../safety.ts";
import { type Quote, readListed, readQuote, toEstimate } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { findWishes, type Workflow, wishesOf } from "../workflows/index.ts";
import { requireAgreed } from "./agreement.ts";
import type { RequestKey } from "./keys.ts";
import {
  resolveParams,
  resolveTolerantly,
  sizeClassesOf,
  sizeClassOfRun,
  unusedIn,
  withoutSettings,
} from "./params.ts";
import { type Inputs, type NewInput, recallInputs, rememberInputs } from "./pictures.ts";
import type { SubmitRequest } from "./request.ts";
import { withoutShape } from "./shape.ts";

export interface Submitter {
  readonly userId: string;
  readonly isGuest: boolean;
  /** Whether the tiers above `normal` are allowed. */
  readonly isAdmin?: boolean;
  /** The API key whose cap counts; none for a session. */
  readonly keyId?: Caller["keyId"];
  /** Of an API key with rights of its own. */
  readonly rights?: Caller["rights"];
}

export interface SubmitOptions {
  readonly submitter: Submitter;
  /** As the client sent it. */
  readonly idempotencyKey?: string;
  /** The name of a key of the studio's own. */
  readonly ownKey?: string | undefined;
  /** The id of the job if it is a new one, by which the caller tells it from a known one. */
  readonly newJobId?: string;
  readonly retry?: { readonly of: string; readonly number: number };
  /** An outfit change on the result of one before, for whose photo the caller has found the statement: it needs none and states none. */
  readonly isPass?: boolean;
  /** The first failed attempt ends the job; false by default. */
  readonly once?: boolean;
  /** What the prompts of the request were made from before: they are plain by now. */
  readonly template?: PromptTemplate | undefined;
  /** The request as the client sent it, where that is what a repeated one is compared with. */
  readonly asked?: SubmitRequest;
  /** What the run does not take, or not with that value, goes into `metadata`: for clients that know no workflows. */
  readonly keepsUnused?: boolean;
  /** Shared by the jobs of an order, each of which draws from them. */
  readonly lists?: KnownLists;
  /** Input pictures of the request whose rows are inserted in the transaction that stores the job. */
  readonly newInputs?: NewInputs;
  /**
   * Runs in the transaction that stores the job, or that finds it under its key: what it writes is true together with the
   * job, and when it throws there is no job.
   */
  readonly alongside?: (tx: Tx, jobId: string) => Promise<void>;
}

interface NewInputs {
  readonly images: readonly NewInput[];
  insert(tx: Tx): Promise<void>;
}

/** A request with the id of its job. */
export interface Draft {
  readonly id: string;
  readonly request: SubmitRequest;
  readonly options: SubmitOptions;
  readonly key: RequestKey | null;
}

export interface NewJob extends Draft {
  /** Still with the shape that was asked for: a step of a batch gets it when the size of its picture is known. */
  readonly request: SubmitRequest;
  readonly inputs: Inputs;
  readonly quote: Quote;
  readonly row: ReturnType<typeof rowOf> & ReturnType<typeof markOf>;
}

/** Chooses the place and makes the row of the job; reads only. Throws what `submit` throws for the request itself. */
export async function prepare(services: Services, asked: Draft): Promise<NewJob> {
  const draft = withinRights(await compose(services, asked));
  const { options } = draft;
  if (options.newInputs) rememberInputs(services.db, options.newInputs.images);
  const inputs = await recallInputs(services.db, options.submitter.userId, draft.request);
  await requireConsent(services, draft, inputs);
  const fitting = { ...draft, request: withoutShape(draft.request, inputs) };
  const quote = await readOwnQuote(services, fitting, inputs);
  const { maxCharged } = services.config.limits;
  const { candidate } = quote.placed;
  const request = withoutStyleNegative(asked, fitting, candidate.workflow);
  const { params, metadata } = options.keepsUnused
    ? resolveTolerantly(request, candidate)
    : { params: resolveParams(request, candidate), metadata: request.metadata };
  await requireListed(services.db, candidate.workflow, params);
  await requireAgreed(services.db, request.agreed, quote.placed, params);
  const mark = markOf({ ...request, metadata }, maxCharged);
  return {
    ...draft,
    request: withoutStyleNegative(asked, draft, candidate.workflow),
    quote,
    inputs,
    row: { ...rowOf({ ...draft, request }, quote, { inputs, params }), ...mark },
  };
}

/** A key without the right to spend agrees to nothing that costs. Throws `forbidden` where the request does. */
function withinRights(draft: Draft): Draft {
  const { request, options } = draft;
  if (hasRight(options.submitter, "spend")) return draft;
  const { agreed = { maxPriceUsd: 0, ownOnly: false, unknownPrice: false } } = request;
  if (agreed.maxPriceUsd > 0) requireRight(options.submitter, "spend");
  return { ...draft, request: { ...request, agreed } };
}

/** The request with its drawn prompts. A repeated one is compared as it was sent, in the hash of its key: it may draw others. */
async function compose(services: Services, draft: Draft): Promise<Draft> {
  const { request, options } = draft;
  const { template, ...plain } = request;
  if (template === undefined) return draft;
  // Safe cast: where a kind has these params, they are of these types.
  const { prompt, negativePrompt, seed } = request.params as Drawn;
  const { userId } = options.submitter;
  const asked = { userId, template, prompt, negativePrompt, seed, known: options.lists };
  const made = await composePrompts(services, asked);
  const given = { prompt: made.prompt, negativePrompt: made.negativePrompt };
  const drawn = Object.entries(given).filter(([, text]) => text !== undefined);
  const others = Object.entries(request.params).filter(([name]) => !(name in given));
  return {
    ...draft,
    // Safe cast: only texts became other texts.
    request: { ...plain, params: Object.fromEntries([...others, ...drawn]) } as SubmitRequest,
    options: { ...options, template: made.template },
  };
}

interface Drawn {
  readonly prompt?: string | undefined;
  readonly negativePrompt?: string | undefined;
  readonly seed?: number | undefined;
}

/** A named workflow refuses a negative prompt that it does not take; one that a style brought along is left out instead. */
function withoutStyleNegative(asked: Draft, { request }: Draft, workflow: Workflow | null): SubmitRequest {
  if (workflow === null || workflow.params.negativePrompt !== undefined) return request;
  if ("negativePrompt" in asked.request.params) return request;
  const kept = Object.entries(request.params).filter(([name]) => name !== "negativePrompt");
  // Safe cast: a negative prompt is optional in every kind.
  return { ...request, params: Object.fromEntries(kept) } as SubmitRequest;
}

/**
 * Throws `workflow_params` where servers of the last 24 hours can run the workflow and none has all LoRAs, the checkpoint, the
 * sampler and the scheduler, or where a name may be any of several files on each that has.
 */
async function requireListed(
  db: Db,
  workflow: Workflow | null,
  params: Record<string, unknown>,
): Promise<void> {
  const wishes = workflow ? wishesOf(workflow, params) : [];
  if (workflow === null || wishes.length === 0) return;
  const servers = await readListed(db, workflow);
  if (servers.some((choices) => wishes.some(({ place }) => isCut(choices.get(place))))) return;
  const answers = servers.map((choices) => findWishes(wishes, choices));
  const [best] = answers.toSorted(
    (a, b) => a.lacking.length - b.lacking.length || a.several.length - b.several.length,
  );
  if (best === undefined) return;
  const { lacking, several } = best;
  const names = lacking.map(({ name }) => name);
  if (names.length > 0)
    throw new AppError(
      "workflow_params",
      `No connected server has all that was chosen. Missing: ${names.join(", ")}.`,
      { details: { lacking: names } },
    );
  if (several.length === 0) return;
  const which = several.map(({ name, choices }) => `${name} (${choices.join(", ")})`).join("; ");
  throw new AppError("workflow_params", `Name the file with its folder: there are several of ${which}.`, {
    details: { several },
  });
}

/** Whether more was listed than is stored: then a server says itself what it has. */
const isCut = (known: readonly string[] | undefined) => (known?.length ?? 0) >= keptListed;

/** Throws `consent_required` unless the request or an earlier one of its owner states the consent for the photo. */
async function requireConsent({ db }: Services, { request, options }: Draft, inputs: Inputs): Promise<void> {
  if (request.kind !== "outfit_change" || request.params.consent === true || options.isPass) return;
  const person = inputs.get("person");
  const ownerId = options.submitter.userId;
  const isStored =
    person !== undefined && (await isConsentStored(db, { ownerId, storedSha256: person.storedSha256 }));
  if (!isStored) throw new AppError("consent_required");
}

/** A client that knows no workflows gets one that is live now, if need be without its settings. */
async function readOwnQuote(services: Services, { request, options }: Draft, inputs: Inputs): Promise<Quote> {
  const { submitter: asker, keepsUnused } = options;
  const { placesMs: maxAgeMs } = services.config.timing;
  const read = (asked: SubmitRequest) =>
    readQuote(services, { request: asked, asker, maxAgeMs, sizeClassOf: sizeClassesOf(asked, inputs) });
  if (!keepsUnused) return read(request);
  const exact = await read(request).catch(noQuote);
  if (exact?.placed.placement.isLive) return exact;
  const bare = await read(withoutSettings(request));
  return exact && !bare.placed.placement.isLive ? exact : bare;
}

function noQuote(error: unknown): null {
  if (isAppError(error) && error.code === "no_engine") return null;
  throw error;
}

interface Fitted {
  readonly inputs: Inputs;
  readonly params: Record<string, unknown>;
}

function rowOf({ id, request, options }: Draft, quote: Quote, { inputs, params }: Fitted) {
  const { placed } = quote;
  const { wait } = placed;
  const { queue, placement, candidate } = placed;
  const { engine, workflow, model } = candidate;
  const { kind, retention } = request;
  const sizeClass = sizeClassOfRun(kind, params, inputs);
  return {
    id,
    ownerId: options.submitter.userId,
    kind,
    tier: tiers[request.tier],
    params,
    template: options.template,
    queue,
    engine,
    workflow: workflow?.name ?? null,
    model: model?.id ?? null,
    ownOnly: request.ownOnly,
    agreed: request.agreed,
    need: candidate.need,
    placement: { ...placement, asked: askedIn(request, params) },
    estimate: toEstimate(wait),
    sizeClass,
    inputCount: inputs.size,
    retention,
    retryOf: options.retry?.of ?? null,
    retryNumber: options.retry?.number ?? null,
    once: options.once ?? false,
    requestId: currentRequestId(),
    apiKeyId: options.submitter.keyId ?? null,
    traceparent: currentTraceparent(),
  };
}

/** What the client adds to a job for its own use; a missing member stays null in the row. */
function markOf({ maxRetries, sessionId, metadata }: SubmitRequest, maxCharged: number) {
  const retries = maxRetries === undefined ? undefined : Math.min(maxRetries, maxCharged - 1);
  return { maxRetries: retries, sessionId, metadata };
}

function askedIn({ engine, workflow, model, params }: SubmitRequest, taken: object): Asked {
  const named = { engine: engine ?? null, workflow: workflow ?? null, model: model ?? null };
  return { ...named, params: Object.keys(params), ...unusedIn(params, taken) };
}
