import { type AnswerFormat, readAs } from "../../images/index.ts";
import type { JobView } from "../../jobs/index.ts";
import { signPicture } from "../../links/index.ts";
import { deadKey } from "../../accounts/index.ts";
import { type AppError, type FieldIssue, originOf, toProblem } from "../../platform/index.ts";
import {
  cancelQuietly,
  followOrder,
  lateError,
  outputOf,
  patienceOf,
  type Placed,
  requireCompleted,
  unusedNotes,
} from "../clients/orders.ts";
import { type ClientInput, isStillKey } from "../clients/route.ts";
import { sendJson } from "../clients/send.ts";
import { answerEvents } from "../http/streams.ts";
import { classifyError } from "../requests.ts";
import type { Asked } from "./request.ts";

/** Pictures that were ordered, with what their answer says of them. */
export interface Ordered extends Placed {
  readonly asked: Asked;
  readonly type: "image_generation" | "image_edit";
}

const nowS = () => Math.floor(Date.now() / 1_000);

/** Members that every answer has. */
function factsOf(asked: Asked, job: JobView) {
  const { widthPx, heightPx } = outputOf(job);
  const quality = ["low", "medium", "high"].includes(asked.quality) ? asked.quality : "auto";
  return {
    background: "opaque",
    output_format: asked.format,
    quality,
    size: `${widthPx}x${heightPx}`,
  };
}

/** What the studio adds to an answer: its jobs, what made them, and what was asked and not done. */
function ownFacts(asked: Asked, jobs: readonly JobView[]) {
  const notes = new Set([...asked.notes, ...jobs.flatMap((job) => unusedNotes(asked.settings, job))]);
  return {
    jobs: jobs.map(({ id }) => id),
    models: [...new Set(jobs.map(({ workflow, model, engine }) => `atelier/${model ?? workflow ?? engine}`))],
    notes: [...notes],
  };
}

/** The whole answer; each picture is read when the reader is there for it. */
export function answerPictures(input: ClientInput, { asked }: Ordered, jobs: readonly JobView[]): Response {
  const [first] = jobs;
  const facts = first ? factsOf(asked, first) : {};
  const tail = JSON.stringify({ ...facts, atelier: ownFacts(asked, jobs) }).slice(1);
  return sendJson(input.services, pieces(input, asked, { jobs, tail }), {
    onServed: () => Promise.resolve(),
  });
}

interface Pieces {
  readonly jobs: readonly JobView[];
  readonly tail: string;
}

async function* pieces(input: ClientInput, asked: Asked, { jobs, tail }: Pieces): AsyncGenerator<string> {
  yield `{"created":${nowS()},"data":[`;
  for (const [at, job] of jobs.entries()) {
    if (at > 0) yield ",";
    yield asked.isLink ? JSON.stringify({ url: linkTo(input, asked.format, job) }) : `{"b64_json":"`;
    if (!asked.isLink) yield `${await readBase64(input, asked, job)}"}`;
  }
  yield `],${tail}`;
}

async function readBase64(
  { services, caller }: Pick<ClientInput, "services" | "caller">,
  { format, compression }: Asked,
  job: JobView,
): Promise<string> {
  const own = { id: outputOf(job).imageId, ownerId: caller.userId };
  return (await readAs(services, own, format, { quality: compression })).toString("base64");
}

/** Whoever has the address may read the picture for an hour. */
function linkTo({ services }: ClientInput, format: AnswerFormat, job: JobView): string {
  const token = signPicture(services, outputOf(job).imageId, format);
  return `${originOf(services.env)}/v1/images/files/${token}`;
}

/** 202: the time is over, and the jobs go on, as the request preferred. */
export function answerLater({ ids, asked }: Ordered): Response {
  const body = { created: nowS(), data: [], atelier: { jobs: ids, models: [], notes: asked.notes } };
  const [first = ""] = ids;
  const headers = { location: `/api/v1/jobs/${first}`, "preference-applied": "respond-async" };
  return Response.json(body, { status: 202, headers: { ...headers, "cache-control": "no-store" } });
}

/** The documented events: previews of the run, then each picture. */
export function streamPictures(input: ClientInput, ordered: Ordered): Response {
  const { services, caller, request } = input;
  const { goesOn, waitMs } = patienceOf(input);
  // The last word has to leave before the connection ends.
  const late = AbortSignal.timeout(Math.max(0, waitMs - lastWordMs));
  return answerEvents({
    services,
    caller,
    request,
    giveBack: ordered.giveBack,
    isAllowed: () => isStillKey(input),
    open: (left) => eventsOf(input, ordered, { goesOn, signal: AbortSignal.any([left, late]) }),
    onUnread: () => {
      if (!goesOn) services.later(cancelAll(input, ordered));
    },
    toText: (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  });
}

const lastWordMs = 500;

async function cancelAll(input: ClientInput, { ids }: Ordered): Promise<void> {
  for (const id of ids) await cancelQuietly(input, id);
}

interface StreamEvent extends Readonly<Record<string, unknown>> {
  readonly type: string;
}

interface Streaming {
  readonly goesOn: boolean;
  readonly signal: AbortSignal;
}

async function* eventsOf(
  input: ClientInput,
  ordered: Ordered,
  streaming: Streaming,
): AsyncGenerator<StreamEvent | null> {
  const { ids, asked } = ordered;
  const wantsLive = asked.partialImages > 0;
  const partialOf = partials(ordered);
  let open = ids.length;
  try {
    for await (const step of followOrder(input, { ids, wantsLive, ...streaming })) {
      if (step === null) yield null;
      else if (step.type === "ended") {
        open -= 1;
        yield await completedEvent(input, ordered, step.job);
      } else yield* partialOf(step);
    }
    if (open > 0) throw lateError(streaming.goesOn);
  } catch (error) {
    yield { type: "error", error: toError(classifyError(error)), atelier: { jobs: ids } };
  }
}

/** At most as many previews of a picture as were asked for, at even distances of its progress. */
function partials(ordered: Ordered) {
  const { partialImages } = ordered.asked;
  const sent = new Map<string, number>();
  return ({ jobId, progress, preview }: Preview): StreamEvent[] => {
    const index = sent.get(jobId) ?? 0;
    const isDue = index < partialImages && progress >= (index + 1) / (partialImages + 1);
    if (preview === null || !isDue) return [];
    sent.set(jobId, index + 1);
    return [partialEvent(ordered, preview, index)];
  };
}

interface Preview {
  readonly jobId: string;
  readonly progress: number;
  readonly preview: string | null;
}

function partialEvent({ type, asked }: Ordered, preview: string, index: number): StreamEvent {
  return {
    type: `${type}.partial_image`,
    b64_json: preview.slice(preview.indexOf(",") + 1),
    partial_image_index: index,
    created_at: nowS(),
    size: "auto",
    quality: asked.quality,
    background: "opaque",
    // Previews are small JPEGs, whatever the picture will be.
    output_format: "jpeg",
  };
}

const noUsage = {
  input_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
  output_tokens: 0,
  total_tokens: 0,
};

async function completedEvent(
  input: ClientInput,
  { type, asked }: Ordered,
  job: JobView,
): Promise<StreamEvent> {
  requireCompleted(job);
  return {
    type: `${type}.completed`,
    b64_json: await readBase64(input, asked, job),
    created_at: nowS(),
    ...factsOf(asked, job),
    // Nothing is counted in tokens here.
    usage: noUsage,
    atelier: ownFacts(asked, [job]),
  };
}

/** Statuses of the API where they differ from the studio's: what is wrong in a request is 400, and 409 would be tried again. */
function statusOf({ code }: AppError, httpStatus: number): number {
  if (code === "not_agreed") return 402;
  if (code === "model_unknown" || code === "workflow_unknown") return 404;
  return httpStatus === 422 || httpStatus === 415 ? 400 : httpStatus;
}

function typeOf(status: number): string {
  if (status === 429) return "rate_limit_error";
  if (status === 402) return "insufficient_quota";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

const ownCodes: Readonly<Record<string, string>> = {
  unauthorized: "invalid_api_key",
  rate_limited: "rate_limit_exceeded",
  quota_exceeded: "rate_limit_exceeded",
  model_unknown: "model_not_found",
  workflow_unknown: "model_not_found",
  budget_exceeded: "insufficient_quota",
};

function toError(error: AppError) {
  const { details = {} } = error;
  // Safe: `issuesOf` made them.
  const [issue] = (details["issues"] as readonly FieldIssue[] | undefined) ?? [];
  const named = typeof details["param"] === "string" ? details["param"] : issue?.path.split(".")[0];
  const param = error.code === "model_unknown" ? "model" : (named ?? null);
  const status = statusOf(error, toProblem(error).status);
  return { message: messageOf(error), type: typeOf(status), param, code: ownCodes[error.code] ?? error.code };
}

const howToAgree =
  "Allow a price with max_price_usd in the body, the header X-Max-Price-Usd, or behind the model's name: atelier/<model>@0.05.";

function messageOf({ code, message }: AppError): string {
  if (code === "unauthorized" && message !== deadKey)
    return "Send an API key of the studio as Authorization: Bearer <key>.";
  return code === "not_agreed" ? `${message} ${howToAgree}` : message;
}

const tryAgainS = 10;

/** An error in the API's own shape. */
export function errorResponse(error: AppError): Response {
  const problem = toProblem(error);
  const status = statusOf(error, problem.status);
  const headers = new Headers({ "cache-control": "no-store" });
  const wait = problem.headers["retry-after"] ?? (status === 429 ? String(tryAgainS) : null);
  if (wait !== null) headers.set("retry-after", wait);
  // The official packages try 409 and 5xx again by themselves, which would make the picture twice.
  else headers.set("x-should-retry", "false");
  return Response.json({ error: toError(error) }, { status, headers });
}
