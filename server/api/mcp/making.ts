import { buffer } from "node:stream/consumers";
import type { ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import { z } from "zod";
import type { InputRole, JobKind } from "../../engines.ts";
import { openFile, type Variant } from "../../images/index.ts";
import { isSessionCancelled, type JobView } from "../../jobs/index.ts";
import { AppError, takePlace } from "../../platform/index.ts";
import { type Choice, findChoice, readChoices } from "../clients/choices.ts";
import { followOrder, type Order, placeOrder, unusedNotes } from "../clients/orders.ts";
import type { ClientInput } from "../clients/route.ts";

type RequestExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

export interface Extra extends RequestExtra {
  /** The session id of the jobs that the call orders. */
  readonly mark: string;
  /** The name by which `notifications/cancelled` finds the call; of a call that becomes no task it is the mark. */
  readonly callName: string;
}

export type Content =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

/** What a tool answers: facts as JSON, and pictures. */
export interface Answer {
  readonly facts: Readonly<Record<string, unknown>>;
  readonly pictures?: readonly Content[];
  /** Nothing was made. */
  readonly isError?: boolean;
}

export const toResult = ({ facts, pictures = [], isError = false }: Answer) => ({
  content: [{ type: "text" as const, text: JSON.stringify(facts) }, ...pictures],
  ...(isError ? { isError } : {}),
});

export const longestWaitS = 600;

/** Members that every tool has that makes pictures. */
export const makingFields = {
  model: z
    .string()
    .max(200)
    .optional()
    .describe("A name that list_models gives. Default: the studio chooses."),
  maxPriceUsd: z
    .number()
    .min(0)
    .default(0)
    .describe(
      "The most that one picture may cost, US dollars, as the person allowed. 0 (default): only what is free. Call estimate for the price.",
    ),
  waitSeconds: z
    .number()
    .int()
    .min(0)
    .max(longestWaitS)
    .default(50)
    .describe(
      "How long to wait for the pictures. After it the answer has the ids of jobs that go on: ask job_status.",
    ),
};

export interface Making {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  readonly pictures: readonly { readonly role: InputRole; readonly id: string }[];
  readonly count?: number;
  readonly model?: string | undefined;
  readonly maxPriceUsd: number;
  readonly waitSeconds: number;
}

/** Orders pictures, reports their progress, and answers with those that are done when the time is over. */
export async function make(input: ClientInput, making: Making, extra: Extra): Promise<Answer> {
  const choices = making.model === undefined ? [] : await readChoices(input.services, [making.kind]);
  // A price behind the name is not the one that the person allowed.
  const { choice, note } = findChoice(choices, making.model);
  const requireWanted = () => requireNotCancelled(input, [extra.callName, extra.mark]);
  const placed = await placeOrder(input, { ...orderOf(making, choice, extra.mark), requireWanted });
  const { ids } = placed;
  const jobs = await follow(input, { ...placed, waitSeconds: making.waitSeconds }, extra);
  const given = Object.fromEntries(Object.entries(making.params).filter(([name]) => name !== "prompt"));
  const unused = jobs
    .filter(({ status }) => status === "completed")
    .flatMap((job) => unusedNotes(given, job));
  const notes = [...new Set([...(note === null ? [] : [note]), ...unused])];
  return answerOf(input, { ids, jobs, notes });
}

interface Made {
  readonly ids: readonly string[];
  /** Those that have ended. */
  readonly jobs: readonly JobView[];
  readonly notes: readonly string[];
}

/** What a tool says of the jobs that it ordered. */
export async function answerOf(input: ClientInput, { ids, jobs, notes }: Made): Promise<Answer> {
  const done = new Map(jobs.map((job) => [job.id, job]));
  return {
    isError: done.size === ids.length && jobs.every(({ status }) => status !== "completed"),
    facts: {
      jobs: ids.map((id) => factsOf(id, done.get(id))),
      ...(notes.length > 0 ? { notes } : {}),
      ...(done.size < ids.length ? { next: "Some jobs go on. Ask job_status with their ids." } : {}),
    },
    pictures: await showAll(input, jobs),
  };
}

/** A cancel may arrive over another connection before the call that it is about; ids of calls are used again after that. */
const earlyCancelMs = 30_000;

/** Throws `conflict` for a call that its client has cancelled, by the name of the call or of its task. */
async function requireNotCancelled(
  { services, caller, startedAtMs }: ClientInput,
  sessionIds: readonly string[],
) {
  const withinMs = performance.now() - startedAtMs + earlyCancelMs;
  if (await isSessionCancelled(services, { ownerId: caller.userId, sessionIds, withinMs }))
    throw new AppError("conflict", "The call was cancelled.");
}

function orderOf(making: Making, choice: Choice | null, sessionId: string): Order {
  const { kind, params, pictures, maxPriceUsd, count = 1 } = making;
  return {
    kind,
    choice,
    params,
    pictures: pictures.map(({ role, id }) => ({ role, picture: { id } })),
    count,
    maxPriceUsd,
    sessionId,
  };
}

interface Waiting {
  readonly ids: readonly string[];
  readonly waitSeconds: number;
  /** Of a place that was taken before; without it one is taken. */
  readonly giveBack?: () => void;
}

/** The jobs that ended in time. A client that leaves does not end them: it may come back and ask. */
export async function follow(
  input: ClientInput,
  { ids, waitSeconds, giveBack: held }: Waiting,
  extra: RequestExtra,
): Promise<readonly JobView[]> {
  const { services, caller, request } = input;
  const giveBack = held ?? takePlace(services, "stream", caller);
  const signal = AbortSignal.any([request.signal, extra.signal, AbortSignal.timeout(waitSeconds * 1_000)]);
  const report = reporterOf(ids, extra);
  const ended: JobView[] = [];
  try {
    for await (const step of followOrder(input, { ids, signal, goesOn: true, wantsLive: report !== null })) {
      if (step === null) continue;
      if (step.type === "ended") ended.push(step.job);
      await report?.(
        step.type === "ended" ? { jobId: step.job.id, progress: 1, stage: step.job.status } : step,
      );
    }
  } finally {
    giveBack();
  }
  return ended;
}

interface Step {
  readonly jobId: string;
  readonly progress: number;
  readonly stage: string;
}

/** Progress of all jobs together; null for a client that did not ask for it. */
function reporterOf(ids: readonly string[], { _meta, sendNotification }: RequestExtra) {
  const token = _meta?.progressToken;
  if (token === undefined) return null;
  const byId = new Map(ids.map((id) => [id, 0]));
  let last = 0;
  return async ({ jobId, progress, stage }: Step) => {
    byId.set(jobId, Math.max(byId.get(jobId) ?? 0, progress));
    const sum = [...byId.values()].reduce((all, one) => all + one, 0);
    if (sum <= last) return;
    last = sum;
    await sendNotification({
      method: "notifications/progress",
      params: { progressToken: token, progress: sum, total: ids.length, message: `${jobId}: ${stage}` },
    });
  };
}

/** What a program is told of a job. */
export function factsOf(id: string, job: JobView | undefined): Readonly<Record<string, unknown>> {
  if (!job) return { jobId: id, status: "open" };
  const { kind, status, progress, stage, model, workflow, error, outputs, params } = job;
  return {
    jobId: id,
    kind,
    status,
    progress,
    ...(stage === null ? {} : { stage }),
    madeBy: model ?? workflow,
    ...(error ? { error } : {}),
    ...(params["seed"] === undefined ? {} : { seed: params["seed"] }),
    pictures: outputs.map(({ imageId, widthPx, heightPx }) => ({ pictureId: imageId, widthPx, heightPx })),
  };
}

const mostShown = 4;

/** Of all pictures of a result. Programs take a mebibyte of one event: so do the official package for Python and desktop programs. */
const mostShownChars = 900_000;

/** Previews of the first pictures, so that the model sees what was made. */
export async function showAll(input: ClientInput, jobs: readonly JobView[]): Promise<readonly Content[]> {
  const ids = jobs.flatMap(({ outputs }) => outputs.map(({ imageId }) => imageId)).slice(0, mostShown);
  return show(input, ids, "preview");
}

/** Pictures of the caller, scaled down; thumbnails where previews would be too large together. Throws `not_found`. */
export async function show(
  input: ClientInput,
  ids: readonly string[],
  variant: Exclude<Variant, "original">,
): Promise<readonly Content[]> {
  const pictures = await Promise.all(ids.map((id) => readPicture(input, id, variant)));
  const chars = pictures.reduce((sum, { base64 }) => sum + base64.length, 0);
  if (chars > mostShownChars && variant !== "thumbnail") return show(input, ids, "thumbnail");
  return pictures.map(({ base64, mimeType }) => ({ type: "image", data: base64, mimeType }));
}

/** A file of a picture of the caller. Throws `not_found`. */
export async function readPicture({ services, caller }: ClientInput, id: string, variant: Variant) {
  const { body, headers } = await openFile(services, { id, ownerId: caller.userId, variant });
  const bytes = body ? await buffer(body) : Buffer.alloc(0);
  return { base64: bytes.toString("base64"), mimeType: headers["content-type"] ?? "image/webp" };
}
