import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { z } from "zod";
import { workerAccount } from "@atelier/server/accounts/plain";
import {
  findJob,
  get,
  getAny,
  type JobView,
  kindParams,
  noteAnswer,
  noteServed,
  openResult,
  submit,
} from "@atelier/server/jobs";
import { readAdminRequests } from "@atelier/server/nodes";
import { AppError, lineOfText, newId, orLate, parseAsked } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { WorkerView } from "./server.ts";

/** A request with a valid token. */
export interface Call {
  readonly services: Services;
  /** Null while the worker starts. */
  readonly worker: WorkerView | null;
  readonly request: IncomingMessage;
  /** The id in the path; empty for routes without one. */
  readonly id: string;
  readonly query: URLSearchParams;
}

/** The response: JSON or a stream. */
export type Answer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly json: unknown }
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly stream: Readable;
      /** Called after the last byte. */
      readonly onSent: () => Promise<void>;
    };

export type Handle = (call: Call) => Promise<Answer>;

/** Far more than two prompts of the greatest length. */
export const maxBodyBytes = 65_536;

/** The JSON body of a request. Throws `bad_request`, and `request_too_large` without reading on. */
async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!request.headers["content-type"]?.startsWith("application/json"))
    throw new AppError("bad_request", "Send the body as application/json.");
  if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) throw new AppError("request_too_large");
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  // The request stays open after an early exit of the loop, so that the client can still read the error.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBodyBytes) throw new AppError("request_too_large");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (cause) {
    throw new AppError("bad_request", "The body is not valid JSON.", { cause });
  }
}

const bodySchema = kindParams.text_to_image.extend({
  workflow: z.string().max(100).optional(),
  retention: z.enum(["keep", "ephemeral"]).optional(),
});
const keySchema = lineOfText.min(1).max(200).optional();

/** POST /CreateImageFromPrompt: stores the job and answers at once; its first failure is final. */
export async function createImageFromPrompt({ services, request }: Call): Promise<Answer> {
  const { workflow, retention, ...params } = parseAsked(bodySchema, await readJson(request));
  const key = parseAsked(keySchema, request.headers["idempotency-key"]);
  const account = await workerAccount(services);
  const { id } = await submit(
    services,
    { kind: "text_to_image", params, workflow, retention },
    {
      submitter: { userId: account.id, isGuest: false },
      once: true,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    },
  );
  return { status: 202, headers: { location: `/status/${id}` }, json: { status: "accepted", job_id: id } };
}

/**
 * GET /status/{job_id}: a job of the studio. The token belongs to the operator, so every job's progress can be read; its
 * words and pictures only of a job that was submitted to a worker.
 */
export async function readStatus({ services, id }: Call): Promise<Answer> {
  const account = await workerAccount(services);
  const job = await findJob(services, { ownerId: account.id, id });
  const headers = { "cache-control": "no-store" };
  if (!job) return { status: 200, headers, json: toProgress(await getAny(services, id)) };
  // This answer delivers a job without a result; one with a result is delivered when its file was sent.
  if (job.status === "failed" || job.status === "cancelled") await noteAnswer(services, job.id);
  return { status: 200, headers, json: toStatus(job) };
}

/** What the operator may know of a user's job. */
function toProgress({ id, status, progress, stage, error, ...job }: JobView) {
  const { kind, queue, node, server, estimate, createdAt, startedAt, endedAt } = job;
  const facts = { kind, queue, node, server, estimate, createdAt, startedAt, endedAt };
  return { job_id: id, status, progress, stage, error, ...facts };
}

function toStatus({ id, outputs, ...job }: JobView) {
  const { status, progress, stage, error, workflow, params, queue, node, server } = job;
  const results = outputs.map(({ imageId, widthPx, heightPx }, position) => {
    const url = `/result/${id}${position > 0 ? `?position=${position}` : ""}`;
    return { imageId, widthPx, heightPx, url };
  });
  return {
    job_id: id,
    status,
    progress,
    stage,
    error,
    outputs: results,
    workflow,
    params,
    queue,
    node,
    server,
    estimate: job.estimate,
    createdAt: job.createdAt,
    startedAt: job.startedAt,
    endedAt: job.endedAt,
  };
}

/** GET /result/{job_id}: the picture of a completed job. Throws `conflict` when the job is open, failed or cancelled. */
export async function sendResult({ services, id, query }: Call): Promise<Answer> {
  const { id: ownerId } = await workerAccount(services);
  const job = await get(services, { ownerId, id });
  const output = job.outputs[Number(query.get("position") ?? 0)];
  if (!output) throw missing(job);
  const { imageId } = output;
  const { headers, body } = await openResult(services, { id: imageId, ownerId });
  // Null only for a request with If-None-Match, which is not passed on here.
  if (!body) throw new AppError("not_found");
  return { status: 200, headers, stream: body, onSent: () => noteServed(services, imageId) };
}

function missing({ status, error }: JobView): AppError {
  if (status === "completed")
    return new AppError("not_found", "The job does not have this picture, or the picture was deleted.");
  if (status === "failed")
    return new AppError("conflict", `The job has failed: ${error?.message ?? "for an unknown reason."}`);
  return new AppError(
    "conflict",
    status === "cancelled" ? "The job was cancelled." : "The job is not done yet.",
  );
}

/** A part that answers later than this counts as not available. */
const probeTimeoutMs = 3_000;

/** GET /health: 200 while the worker takes jobs; 503 while it starts, stops, is drained, or lacks disk, database or queue. */
export async function readHealth({ services, worker }: Call): Promise<Answer> {
  const node = worker?.incarnation.current() ?? null;
  const [orders, queue] = await Promise.all([
    // Also without a node, to see whether the database answers.
    probe(services, "database", () => readAdminRequests(services, node?.id ?? newId())),
    probe(services, "queue", () => services.bells.ping()),
  ]);
  const state = stateOf(node, orders.value);
  const space = spaceOf(worker);
  const storage = { ok: worker ? worker.readiness.store() === "own" : true };
  const isOk = state === "active" && [queue, space, storage].every(({ ok }) => ok);
  const json = {
    status: isOk ? "ok" : "unavailable",
    node: node && { id: node.id, name: node.name },
    state,
    database: { ok: orders.ok },
    queue: { ok: queue.ok },
    space,
    storage,
    ...(worker ? describe(worker) : {}),
  };
  return { status: isOk ? 200 : 503, headers: { "cache-control": "no-store" }, json };
}

/** Of the node as the database has it; null while the database is away. */
function stateOf(node: unknown, requests: { readonly state: string } | null): string | null {
  return node ? (requests?.state ?? null) : "starting";
}

const spaceOf = (worker: WorkerView | null) =>
  worker
    ? { ok: worker.readiness.hasSpace(), freeBytes: worker.readiness.freeBytes() }
    : { ok: true, freeBytes: null };

async function probe<Value>(
  { log }: Services,
  part: string,
  ask: () => Promise<Value>,
): Promise<{ ok: boolean; value: Value | null }> {
  const late = () => {
    throw new Error(`no answer within ${probeTimeoutMs} ms`);
  };
  try {
    return { ok: true, value: await orLate(ask(), probeTimeoutMs, late) };
  } catch (error) {
    log.warn({ err: error, part }, "health check failed");
    return { ok: false, value: null };
  }
}

function describe({ offer, runs, pool }: WorkerView) {
  return {
    queues: offer.current().queues.map(({ queue, slots }) => ({ queue, slots, running: runs.count(queue) })),
    servers: pool.list().map(({ label, engine, state, jobId, queueLength, lastError }) => {
      return { server: label, engine, state, jobId, queueLength, lastError };
    }),
  };
}
