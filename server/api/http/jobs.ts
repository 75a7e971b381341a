import { z } from "zod";
import { jobStatuses } from "../../db/index.ts";
import { listDeliveries, listDeliveriesSchema } from "../../deliveries/index.ts";
import { engineNames, jobKinds } from "../../engines.ts";
import {
  ack,
  cancel,
  estimate,
  get,
  type JobView,
  list,
  listJobsSchema,
  noteAnswer,
  retry,
  submitSchema,
  submitWithUrls,
  submitWithUrlsSchema,
} from "../../jobs/index.ts";
import { lineOfText } from "../../platform/index.ts";
import { asOneOfFew } from "../requests.ts";
import { defineRoute, type HttpRoute } from "./route.ts";
import { deliverySchema } from "./webhooks.ts";

const submittedSchema = z.object({ id: z.uuid(), status: z.enum(jobStatuses) });

/** A job in the HTTP API. */
const jobSchema = z.object({
  id: z.uuid(),
  kind: z.enum(jobKinds),
  status: z.enum(jobStatuses),
  engine: z.enum(engineNames),
  workflow: z.string().nullable(),
  params: z.record(z.string(), z.unknown()),
  /** Queue in which the job waits, or waited for its last attempt. */
  queue: z.string(),
  /** Number of the last attempt; 0 before the first. */
  attempt: z.number().int(),
  /** Worker of the last attempt; null before the first. */
  node: z.string().nullable(),
  /** Host and port of the ComfyUI or IOPaint server of the last attempt; null for the local engine. */
  server: z.string().nullable(),
  executedBy: z
    .string()
    .nullable()
    .describe("Worker of the last attempt, with its server if it used one: `Worker-A @ 192.168.0.107:8188`"),
  progress: z.number().min(0).max(1),
  stage: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  /** Set when the job runs on a slower queue or a simpler engine than requested. */
  downgrade: z.object({ from: z.string(), reason: z.string() }).optional(),
  outputs: z.array(z.object({ imageId: z.uuid(), url: z.string() })),
  retention: z.enum(["keep", "ephemeral"]),
  retryOf: z.uuid().nullable(),
  maxRetries: z
    .number()
    .int()
    .nullable()
    .describe("As in the request, at most as many as the studio allows; null when the request had none"),
  sessionId: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  requestId: z.string().nullable().describe("`X-Request-Id` of the request that submitted the job"),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
  endedAt: z.iso.datetime().nullable(),
  processingMs: z
    .number()
    .int()
    .nullable()
    .describe(
      "From the start of the last attempt to its end; null before, and if the job ended while it waited",
    ),
});

const range = z.tuple([z.number(), z.number()]);

/**
 * The answer to a request for an estimate; `isPossible` false comes with a reason alone. `isLive` false: the job would
 * wait for a worker or a server that is away, see `awaits` and `reason`; `waitMs` then has no meaning.
 */
const estimateSchema = z.object({
  isPossible: z.boolean(),
  reason: z.string().nullable(),
  engine: z.enum(engineNames).optional(),
  workflow: z.string().nullable().optional(),
  queue: z.string().optional(),
  isLive: z.boolean().optional(),
  awaits: z.enum(["worker", "server"]).nullable().optional(),
  position: z.number().int().optional(),
  waitMs: range.optional(),
  runMs: range.optional(),
  runs: z.number().int().optional(),
});

const jobPageSchema = z.object({ items: z.array(jobSchema), nextCursor: z.string().nullable() });

/** The public form of a job, without the data on how its place was chosen. */
function toHttpJob(job: JobView): z.infer<typeof jobSchema> {
  const { id, kind, status, engine, workflow, params, queue, attempt, progress, stage } = job;
  const { node, server, executedBy, createdAt, startedAt, endedAt, processingMs } = job;
  const { retention, retryOf, maxRetries, sessionId, metadata, requestId } = job;
  const downgrade = job.placement?.downgrade;
  return {
    id,
    kind,
    status,
    engine,
    workflow,
    params,
    queue,
    attempt,
    node,
    server,
    executedBy,
    progress,
    stage,
    ...(job.error ? { error: { code: job.error.code, message: job.error.message } } : {}),
    ...(downgrade ? { downgrade: { from: downgrade.from, reason: downgrade.reason } } : {}),
    outputs: job.outputs.map(({ imageId }) => ({
      imageId,
      url: `/api/v1/images/${imageId}/file?variant=original`,
    })),
    retention,
    retryOf,
    maxRetries,
    sessionId,
    metadata,
    requestId,
    createdAt,
    startedAt,
    endedAt,
    processingMs,
  };
}

const tag = "jobs";
const params = z.object({ id: z.string() });

const submitJob = defineRoute({
  method: "post",
  path: "/jobs",
  operationId: "submitJob",
  summary: "Submit a job",
  description:
    'Answers at once with the job\'s id. With an `Idempotency-Key` a repeated request makes no second job; the same key with another body is a conflict. A picture may be the id of an upload or `{ "url": … }`, a public https address without a password: it is fetched before the answer and stored like an upload. What may not be fetched is `url_refused`, what cannot be `url_unreachable`, what is too large `url_too_large`.',
  tag,
  headers: z.object({ "idempotency-key": lineOfText.min(1).max(200).optional() }),
  // The verb parses the body itself, so that a missing consent keeps its own code.
  body: z.unknown(),
  bodyDescription: submitWithUrlsSchema,
  responses: { 202: { description: "The job is stored and will run.", schema: submittedSchema } },
  async handle({ services, caller, headers, body, request: { signal } }) {
    const key = headers["idempotency-key"];
    const submitted = await submitWithUrls(services, body, {
      submitter: caller,
      signal,
      inTurn: (work) => asOneOfFew({ services, caller }, "fetch", work),
      ...(key ? { idempotencyKey: key } : {}),
    });
    return Response.json(submitted, { status: 202, headers: { Location: `/api/v1/jobs/${submitted.id}` } });
  },
});

const estimateJob = defineRoute({
  method: "post",
  path: "/jobs/estimate",
  operationId: "estimateJob",
  summary: "Estimate a job",
  description:
    "Takes the same body as submitting a job and stores nothing. Times are ranges in milliseconds.",
  tag,
  body: z.unknown(),
  bodyDescription: submitSchema,
  responses: { 200: { description: "Whether it can run, where and when.", schema: estimateSchema } },
  async handle({ services, caller, body }) {
    return Response.json(await estimate(services, body, caller));
  },
});

const listJobs = defineRoute({
  method: "get",
  path: "/jobs",
  operationId: "listJobs",
  summary: "List your jobs, newest first",
  tag,
  query: listJobsSchema,
  responses: { 200: { description: "One page.", schema: jobPageSchema } },
  async handle({ services, caller, query }) {
    const page = await list(services, { ...query, ownerId: caller.userId });
    return Response.json({ items: page.items.map(toHttpJob), nextCursor: page.nextCursor });
  },
});

const getJob = defineRoute({
  method: "get",
  path: "/jobs/{id}",
  operationId: "getJob",
  summary: "Get a job",
  tag,
  resource: "job",
  params,
  responses: {
    200: {
      description: "The job as it is now, with its newest deliveries.",
      schema: jobSchema.extend({ deliveries: z.array(deliverySchema) }),
    },
  },
  async handle({ services, caller, params: { id }, request }) {
    const job = await get(services, { ownerId: caller.userId, id });
    // A job without a result is answered in full by this; one with a result when its file was sent.
    const isWhole = request.method !== "HEAD" && (job.status === "failed" || job.status === "cancelled");
    if (isWhole) await noteAnswer(services, job.id);
    const ofJob = { ...listDeliveriesSchema.parse({ jobId: job.id }), ownerId: caller.userId };
    const { items: deliveries } = await listDeliveries(services, ofJob);
    return Response.json({ ...toHttpJob(job), deliveries });
  },
});

const cancelJob = defineRoute({
  method: "post",
  path: "/jobs/{id}/cancel",
  operationId: "cancelJob",
  summary: "Cancel a job",
  description:
    "A waiting job is cancelled at once, a running one is stopped; `cancelled` is false when it had ended before.",
  tag,
  resource: "job",
  params,
  responses: {
    200: {
      description: "Whether the job was cancelled by this request, and its status.",
      schema: z.object({ cancelled: z.boolean(), status: z.enum(jobStatuses) }),
    },
  },
  async handle({ services, caller, params: { id } }) {
    return Response.json(await cancel(services, { ownerId: caller.userId, id }));
  },
});

const retryJob = defineRoute({
  method: "post",
  path: "/jobs/{id}/retry",
  operationId: "retryJob",
  summary: "Retry a failed or cancelled job as a new job",
  tag,
  resource: "job",
  params,
  responses: { 202: { description: "The new job.", schema: submittedSchema } },
  async handle({ services, caller, params: { id } }) {
    return Response.json(await retry(services, { submitter: caller, id }), { status: 202 });
  },
});

const ackJob = defineRoute({
  method: "post",
  path: "/jobs/{id}/ack",
  operationId: "ackJob",
  summary: "Confirm that the result has arrived",
  description: "Removes an ephemeral job with its inputs and results; a kept job stays.",
  tag,
  resource: "job",
  params,
  responses: {
    200: { description: "Whether the job was removed.", schema: z.object({ removed: z.boolean() }) },
  },
  async handle({ services, caller, params: { id } }) {
    return Response.json(await ack(services, { ownerId: caller.userId, id }));
  },
});

export const jobRoutes: readonly HttpRoute[] = [
  submitJob,
  estimateJob,
  listJobs,
  getJob,
  cancelJob,
  retryJob,
  ackJob,
];
