import { z } from "zod";
import { jobKinds } from "../../engines.ts";
import { get, noteAnswer, openBundle, streamEvents } from "../../jobs/index.ts";
import { AppError, places } from "../../platform/index.ts";
import { findWorkflow, offeredWorkflows, readListedNames } from "../../scheduling/index.ts";
import { streamTimesOf } from "../requests.ts";
import { defineRoute } from "./route.ts";
import { answerEvents, isStillCaller, servedStream, zipStream } from "./streams.ts";

export const jobBundleRoute = defineRoute({
  method: "get",
  path: "/jobs/{id}/bundle",
  operationId: "getJobBundle",
  summary: "Download a job as a zip",
  description: "Inputs, mask, results, parameters, story and figures.",
  tag: "jobs",
  resource: "job",
  params: z.object({ id: z.uuid() }),
  responses: { 200: { description: "The zip.", contentType: "application/zip" } },
  async handle({ services, caller, params: { id }, request }) {
    const reader = {
      caller,
      signal: request.signal,
      isAllowed: () => isStillCaller(services, request.headers),
    };
    const zip = await zipStream(services, reader, () => openBundle(services, { ownerId: caller.userId, id }));
    return new Response(
      servedStream(services, zip, () => noteAnswer(services, id)),
      {
        headers: {
          "Content-Type": "application/zip",
          "Content-Disposition": `attachment; filename="job-${id}.zip"`,
          "Cache-Control": "private, no-store",
          "X-Content-Type-Options": "nosniff",
        },
      },
    );
  },
});

const workflowSchema = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  kind: z.enum(jobKinds),
  vramGib: z.number(),
  isLive: z.boolean(),
  missing: z
    .array(z.string())
    .describe("What the server lacks that is nearest to running it; empty when it is live."),
  params: z.record(z.string(), z.unknown()),
  inputs: z.array(z.object({ role: z.string(), required: z.boolean() })),
});

export const listWorkflows = defineRoute({
  method: "get",
  path: "/workflows",
  operationId: "listWorkflows",
  summary: "List the workflows that a job may name, those that can run now first",
  tag: "jobs",
  responses: {
    200: { description: "All of them.", schema: z.object({ items: z.array(workflowSchema) }) },
  },
  async handle({ services }) {
    const offered = await offeredWorkflows(services.db, services.config);
    // Parsed, so that undeclared fields are not sent.
    return Response.json({ items: offered.map((workflow) => workflowSchema.parse(workflow)) });
  },
});

const namesSchema = z.array(z.string()).readonly().optional();

/** Each is there when the workflow takes it. */
const choicesSchema = z.object({
  checkpoint: namesSchema.describe("Files, by the alphabet"),
  loras: namesSchema.describe("Files, by the alphabet"),
  sampler: namesSchema.describe("In the order of the servers"),
  scheduler: namesSchema.describe("In the order of the servers"),
}) satisfies z.ZodType<Awaited<ReturnType<typeof readListedNames>>>;

export const listWorkflowChoices = defineRoute({
  method: "get",
  path: "/workflows/{name}/choices",
  operationId: "listWorkflowChoices",
  summary: "List the checkpoints, LoRAs, samplers and schedulers that a job of a workflow may name",
  description:
    "What the servers list that can run the workflow, all of them together, as `params` of `POST /api/v1/jobs` take it. A server that was seen within a day counts. A list is empty while no server has any; one of `checkpoint`, `loras`, `sampler` and `scheduler` that the workflow does not take is missing. Models of providers take none.",
  tag: "jobs",
  params: z.object({ name: z.string() }),
  responses: { 200: { description: "The lists", schema: choicesSchema } },
  async handle({ services: { db }, params: { name } }) {
    if ((await findWorkflow(db, name)) === null) throw new AppError("not_found");
    return Response.json(choicesSchema.parse(await readListedNames(db, name)));
  },
});

export const jobEventsRoute = defineRoute({
  method: "get",
  path: "/jobs/{id}/events",
  operationId: "streamJobEvents",
  summary: "Follow a job by server-sent events",
  description: `Each event's id is the job's revision; a connection that is opened again with \`Last-Event-ID\` continues exactly there. The stream ends after the job's last event, and after ${streamTimesOf({ FUNCTION_SECONDS: undefined }).lengthMs / 60_000} minutes, sooner where the pages run as functions; one user has at most ${places.stream.perUser} open, the studio's own included.`,
  tag: "jobs",
  resource: "job",
  params: z.object({ id: z.uuid() }),
  headers: z.object({ "last-event-id": z.coerce.number().int().min(0).max(2_147_483_647).default(0) }),
  responses: {
    200: {
      description: "The events of the job so far, then each new one.",
      contentType: "text/event-stream",
    },
  },
  async handle({ services, caller, params: { id }, headers, request }) {
    // Asked before the stream starts, so that an unknown job is a 404 and not an empty stream.
    await get(services, { ownerId: caller.userId, id });
    const address = { ownerId: caller.userId, id, after: headers["last-event-id"] };
    return answerEvents({
      services,
      caller,
      request,
      open: (signal) => streamEvents(services, { ...address, signal }),
      toText: ({ revision, type, status, data, at }) =>
        `id: ${revision}\nevent: ${type}\ndata: ${JSON.stringify({ revision, type, status, data, at })}\n\n`,
    });
  },
});
