import { z } from "zod";
import { jobStatuses } from "../../db/index.ts";
import { listDeliveries, listDeliveriesSchema } from "../../deliveries/index.ts";
import {
  ack,
  cancel,
  estimate,
  get,
  list,
  listJobsSchema,
  noteAnswer,
  retry,
  retryBounds,
  submitSchema,
  submitWithUrls,
  submitWithUrlsSchema,
} from "../../jobs/index.ts";
import { lineOfText } from "../../platform/index.ts";
import { asOneOfFew } from "../requests.ts";
import { estimateSchema, jobPageSchema, jobSchema, submittedSchema, toHttpJob } from "./job-schemas.ts";
import { defineRoute, type HttpRoute } from "./route.ts";
import { deliverySchema } from "./webhooks.ts";

const tag = "jobs";
const params = z.object({ id: z.uuid() });

const submitJob = defineRoute({
  method: "post",
  path: "/jobs",
  operationId: "submitJob",
  summary: "Submit a job",
  description:
    "Answers at once with the job's id. With an `Idempotency-Key` a repeated request makes no second job; the same key with another body is a conflict. A picture may be the id of an upload or `{ \"url\": … }`, a public https address without a password: it is fetched before the answer and stored like an upload. What may not be fetched is `url_refused`, what cannot be `url_unreachable`, what is too large `url_too_large`. With `agreed`, which an estimate gives, whatever would cost more or leave the studio's own machines against it is refused: `not_agreed` (409), with the place and price of now in `cloud`, and what to send back to accept them in `wouldAgree`.",
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
      inPlace: (work) => asOneOfFew({ services, caller }, "fetch", work),
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
  description:
    "The new job keeps what was agreed for the old one, unless the body names other bounds; what would cost more is `not_agreed` (409).",
  tag,
  resource: "job",
  params,
  body: retryBounds,
  isBodyOptional: true,
  responses: { 202: { description: "The new job.", schema: submittedSchema } },
  async handle({ services, caller, params: { id }, body }) {
    return Response.json(await retry(services, { ...body, submitter: caller, id }), { status: 202 });
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
