import { z } from "zod";
import {
  batchDescription,
  cancelBatch,
  estimateBatch,
  getBatch,
  listBatches,
  listBatchesSchema,
  makeContactSheet,
  maxBatchJobs,
  openBatchZip,
  retryBatch,
  streamBatch,
  submitBatch,
} from "../../batches/index.ts";
import { lineOfText, places } from "../../platform/index.ts";
import { asOneOfFew } from "../requests.ts";
import { batchSchema, batchWithJobsSchema, toHttpBatch, toHttpPlace } from "./job-schemas.ts";
import { defineRoute, type HttpRoute } from "./route.ts";
import { answerEvents, isStillCaller, zipAnswer, zipStream } from "./streams.ts";

const tag = "batches";
const params = z.object({ id: z.uuid() });
const count = z.number().int().min(0);

const submitRoute = defineRoute({
  method: "post",
  path: "/batches",
  operationId: "submitBatch",
  summary: "Submit many jobs as one",
  description: `At most ${maxBatchJobs} jobs: a list of requests as of single jobs, or one \`base\` with \`axes\`, which make a job of each combination of their values, the last axis varying fastest. A job may have \`steps\`, which run on its result. All of them are accepted or none. \`maxPriceUsd\` binds the price of all together. Pictures are ids of uploads or, as in a job, public addresses, at most 40 of them; in the values of an axis an address stands as it is. With an \`Idempotency-Key\` a repeated request makes no second batch.`,
  tag,
  headers: z.object({ "idempotency-key": lineOfText.min(1).max(200).optional() }),
  // The verb parses the body itself, so that the error of a job keeps its code.
  body: z.unknown(),
  bodyDescription: batchDescription,
  responses: {
    202: {
      description: "All jobs are stored and will run.",
      schema: z.object({ id: z.uuid(), jobIds: z.array(z.uuid()) }),
    },
  },
  async handle({ services, caller, headers, body, request: { signal } }) {
    const submitted = await submitBatch(services, body, {
      submitter: caller,
      idempotencyKey: headers["idempotency-key"],
      signal,
      inPlace: (work) => asOneOfFew({ services, caller }, "fetch", work),
    });
    return Response.json(submitted, {
      status: 202,
      headers: { Location: `/api/v1/batches/${submitted.id}` },
    });
  },
});

const estimateRoute = defineRoute({
  method: "post",
  path: "/batches/estimate",
  operationId: "estimateBatch",
  summary: "Estimate a batch",
  description: "Takes the same body as submitting a batch and stores nothing.",
  tag,
  body: z.unknown(),
  bodyDescription: batchDescription,
  responses: {
    200: {
      description: "What it would cost and take now.",
      schema: z.object({
        jobs: count,
        refused: z.array(z.object({ position: count, code: z.string(), message: z.string() })),
        cloudJobs: count.describe("Jobs that a provider would get"),
        maxPriceUsd: z
          .number()
          .nullable()
          .describe(
            "The most that all may cost, US dollars; null where no source states the price of one. Send it back as `maxPriceUsd` to get this and nothing dearer.",
          ),
        doneMs: z
          .tuple([z.number(), z.number()])
          .nullable()
          .describe("Until the last job is done, milliseconds; null while one waits for what is away"),
      }),
    },
  },
  async handle({ services, caller, body, request: { signal } }) {
    const { cloud: _pages, ...told } = await estimateBatch(services, body, { submitter: caller, signal });
    return Response.json(told);
  },
});

const listRoute = defineRoute({
  method: "get",
  path: "/batches",
  operationId: "listBatches",
  summary: "List your batches, newest first",
  tag,
  query: listBatchesSchema,
  responses: {
    200: {
      description: "One page.",
      schema: z.object({ items: z.array(batchSchema), nextCursor: z.string().nullable() }),
    },
  },
  async handle({ services, caller, query }) {
    const { items, nextCursor } = await listBatches(services, { ...query, ownerId: caller.userId });
    return Response.json({ items: items.map(toHttpBatch), nextCursor });
  },
});

const getRoute = defineRoute({
  method: "get",
  path: "/batches/{id}",
  operationId: "getBatch",
  summary: "Get a batch with its jobs",
  tag,
  resource: "batch",
  params,
  responses: { 200: { description: "The batch as it is now.", schema: batchWithJobsSchema } },
  async handle({ services, caller, params: { id } }) {
    const batch = await getBatch(services, { ownerId: caller.userId, id });
    return Response.json({ ...toHttpBatch(batch), jobs: batch.jobs.map(toHttpPlace) });
  },
});

const cancelRoute = defineRoute({
  method: "post",
  path: "/batches/{id}/cancel",
  operationId: "cancelBatch",
  summary: "Cancel what is open of a batch",
  description: "Waiting jobs are cancelled at once, running ones are stopped; what is done stays.",
  tag,
  resource: "batch",
  params,
  responses: {
    200: { description: "How many jobs were asked to stop.", schema: z.object({ cancelled: count }) },
  },
  async handle({ services, caller, params: { id } }) {
    return Response.json(await cancelBatch(services, { ownerId: caller.userId, id }));
  },
});

const retryRoute = defineRoute({
  method: "post",
  path: "/batches/{id}/retry",
  operationId: "retryBatch",
  summary: "Run the failed and cancelled jobs of a batch again",
  description:
    "Each new job takes the place of the failed one and keeps what was agreed for it; a place whose step was stopped goes on from there. `conflict` when none has failed.",
  tag,
  resource: "batch",
  params,
  responses: {
    202: {
      description: "What runs again, and what could not be accepted.",
      schema: z.object({
        retried: count,
        refused: z.array(z.object({ position: count, code: z.string(), message: z.string() })),
      }),
    },
  },
  async handle({ services, caller, params: { id } }) {
    return Response.json(await retryBatch(services, { submitter: caller, id }), { status: 202 });
  },
});

const eventsRoute = defineRoute({
  method: "get",
  path: "/batches/{id}/events",
  operationId: "streamBatchEvents",
  summary: "Follow a batch by server-sent events",
  description: `Events \`batch\` with the state of the batch and, in \`jobs\`, the places that changed since the last one; the first has all places, also after a new connection. The stream ends when no job is open; one user has at most ${places.stream.perUser} streams open.`,
  tag,
  resource: "batch",
  params,
  responses: { 200: { description: "The events.", contentType: "text/event-stream" } },
  async handle({ services, caller, params: { id }, request }) {
    const address = { ownerId: caller.userId, id };
    // Asked before the stream starts, so that an unknown batch is a 404 and not an empty stream.
    await getBatch(services, address);
    return answerEvents({
      services,
      caller,
      request,
      open: (signal) => streamBatch(services, { ...address, signal }),
      toText: (batch) =>
        `event: batch\ndata: ${JSON.stringify({ ...toHttpBatch(batch), jobs: batch.jobs.map(toHttpPlace) })}\n\n`,
    });
  },
});

const privateFile = { "Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff" };

const zipRoute = defineRoute({
  method: "get",
  path: "/batches/{id}/zip",
  operationId: "getBatchZip",
  summary: "Download the results of a batch as a zip",
  description: "The pictures in the order of the batch, and `batch.json` with the settings of each.",
  tag,
  resource: "batch",
  params,
  responses: { 200: { description: "The zip.", contentType: "application/zip" } },
  async handle({ services, caller, params: { id }, request }) {
    const reader = {
      caller,
      signal: request.signal,
      isAllowed: () => isStillCaller(services, request.headers),
    };
    const zip = await zipStream(services, reader, () =>
      openBatchZip(services, { ownerId: caller.userId, id }),
    );
    return zipAnswer(services, zip, `batch-${id}.zip`);
  },
});

const sheetRoute = defineRoute({
  method: "get",
  path: "/batches/{id}/sheet",
  operationId: "getBatchSheet",
  summary: "Download a contact sheet of a batch",
  description:
    "A PNG with the first result of each place; with axes the last one goes from left to right. What is not there is an empty cell.",
  tag,
  resource: "batch",
  params,
  query: z.object({ cellPx: z.coerce.number().int().min(64).max(384).default(256) }),
  responses: { 200: { description: "The picture.", contentType: "image/png" } },
  async handle({ services, caller, params: { id }, query: { cellPx } }) {
    const address = { ownerId: caller.userId, id };
    const png = await asOneOfFew({ services, caller }, "answer", () =>
      makeContactSheet(services, { ...address, cellPx }),
    );
    return new Response(new Uint8Array(png), {
      headers: {
        "Content-Type": "image/png",
        "Content-Disposition": `inline; filename="batch-${id}.png"`,
        ...privateFile,
      },
    });
  },
});

export const batchRoutes: readonly HttpRoute[] = [
  submitRoute,
  estimateRoute,
  listRoute,
  getRoute,
  cancelRoute,
  retryRoute,
  eventsRoute,
  zipRoute,
  sheetRoute,
];
