import { z } from "zod";
import { questionSource, type QuestionUpdate } from "../../assistant/index.ts";
import {
  type BatchInput,
  cancelBatch,
  estimateBatch,
  getBatch,
  listBatches,
  listBatchesSchema,
  removeBatch,
  restoreBatch,
  retryBatch,
  submitBatch,
} from "../../batches/index.ts";
import type { ImageView } from "../../images/index.ts";
import {
  cancel,
  cancelWaiting,
  estimate,
  getStory,
  list,
  jobSource,
  type JobsUpdate,
  moveInLine,
  readWaiting,
  listJobsSchema,
  listPrompts,
  readCapabilities,
  recentInputs,
  retry,
  retryBounds,
  submit,
  type SubmitInput,
} from "../../jobs/index.ts";
import { watch } from "../../live/index.ts";
import { lineOfText, momentOfText } from "../../platform/index.ts";
import { holdStreamSlot } from "../http/streams.ts";
import { t } from "./init.ts";
import { memberProcedure, publicProcedure } from "./procedures.ts";

/** Everything that the live stream of a browser tells: jobs, and questions to the assistant. */
export type LiveUpdate = JobsUpdate | QuestionUpdate;

const jobId = z.object({ id: z.string() });
const idempotencyKey = lineOfText.min(1).max(200).optional();

/** Parsed by the verb itself, so that a missing consent keeps its own code; typed for the callers here. */
const submitInput = z.custom<SubmitInput & { idempotencyKey?: string }>(
  (value) => typeof value === "object" && value !== null,
);

export const jobsRouter = t.router({
  submit: memberProcedure.input(submitInput).mutation(({ ctx, input }) => {
    const { idempotencyKey: key, ...request } = input;
    const parsedKey = idempotencyKey.parse(key);
    return submit(ctx.services, request, {
      submitter: ctx.caller,
      ...(parsedKey === undefined ? {} : { idempotencyKey: parsedKey }),
    });
  }),
  list: memberProcedure
    .input(listJobsSchema)
    .query(({ ctx, input }) => list(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  /** What the caller made pictures from last, as it was written. */
  prompts: memberProcedure.query(async ({ ctx }) => ({
    items: await listPrompts(ctx.services, ctx.caller.userId),
  })),
  get: memberProcedure
    .input(jobId)
    .query(({ ctx, input }) => getStory(ctx.services, { ownerId: ctx.caller.userId, id: input.id })),
  cancel: memberProcedure
    .input(jobId)
    .mutation(({ ctx, input }) => cancel(ctx.services, { ownerId: ctx.caller.userId, id: input.id })),
  cancelWaiting: memberProcedure.mutation(({ ctx }) => cancelWaiting(ctx.services, ctx.caller.userId)),
  retry: memberProcedure
    .input(jobId.extend(retryBounds.shape))
    .mutation(({ ctx, input }) => retry(ctx.services, { ...input, submitter: ctx.caller })),
  /** The estimate for a request: same input as `submit`, stores nothing. */
  estimate: memberProcedure
    .input(submitInput)
    .query(({ ctx, input }) => estimate(ctx.services, input, ctx.caller)),
  /** Own waiting jobs with position and expected wait. */
  waiting: memberProcedure.query(({ ctx }) => readWaiting(ctx.services, ctx.caller.userId)),
  moveInLine: memberProcedure
    .input(z.object({ id: z.string(), before: z.string().nullable() }))
    .mutation(({ ctx, input }) => moveInLine(ctx.services, { ownerId: ctx.caller.userId, ...input })),
  /** Available kinds, and reasons for the others; guests use no providers. */
  capabilities: publicProcedure.query(({ ctx }) =>
    readCapabilities(ctx.services, { mayUseCloud: ctx.caller?.isGuest === false }),
  ),
  /** The wardrobe: pictures used last in a role. */
  recentInputs: memberProcedure
    .input(
      z.object({ role: z.enum(["person", "garment"]), limit: z.number().int().min(1).max(50).default(20) }),
    )
    .query(async ({ ctx, input }): Promise<{ items: ImageView[] }> => ({
      items: await recentInputs(ctx.services, { ownerId: ctx.caller.userId, ...input }),
    })),
  watch: memberProcedure
    .input(z.object({ since: momentOfText.optional(), isBrief: z.boolean().optional() }).optional())
    .subscription(({ ctx, input, signal }) => {
      const { userId } = ctx.caller;
      const ended = new AbortController();
      const since = input?.since ? new Date(input.since) : null;
      // Updates of jobs have the time from which a client resumes: the questions of before it must be told by then.
      const updates = watch<LiveUpdate>(ctx.services, [questionSource, jobSource], {
        ownerId: userId,
        since,
        signal: ended.signal,
        isBrief: input?.isBrief === true,
      });
      const reader = { caller: ctx.caller, signal: signal ?? ended.signal };
      const close = holdStreamSlot(ctx.services, reader, () => {
        ended.abort();
        void updates.return(undefined);
      });
      return closeAfter(updates, close);
    }),
});

async function* closeAfter<Value>(source: AsyncIterable<Value>, close: () => void): AsyncGenerator<Value> {
  try {
    yield* source;
  } finally {
    close();
  }
}

const isObject = (value: unknown) => typeof value === "object" && value !== null;
/** Parsed by the verb itself, like the input of a submit. */
const batchInput = z.custom<BatchInput>(isObject);
const submitBatchInput = z.custom<BatchInput & { idempotencyKey?: string }>(isObject);

/** Batches of the caller. Pages follow their jobs by `jobs.watch`. */
export const batchesRouter = t.router({
  submit: memberProcedure.input(submitBatchInput).mutation(({ ctx, input, signal }) => {
    const { idempotencyKey: key, ...batch } = input;
    return submitBatch(ctx.services, batch, {
      submitter: ctx.caller,
      idempotencyKey: idempotencyKey.parse(key),
      signal: signal ?? ctx.request.signal,
    });
  }),
  /** Same input as `submit`, stores nothing. By POST: 200 requests do not fit into an address, and prompts do not belong there. */
  estimate: memberProcedure.input(batchInput).mutation(({ ctx, input, signal }) =>
    estimateBatch(ctx.services, input, {
      submitter: ctx.caller,
      signal: signal ?? ctx.request.signal,
    }),
  ),
  list: memberProcedure
    .input(listBatchesSchema.prefault({}))
    .query(({ ctx, input }) => listBatches(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  get: memberProcedure
    .input(jobId)
    .query(({ ctx, input }) => getBatch(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  cancel: memberProcedure
    .input(jobId)
    .mutation(({ ctx, input }) => cancelBatch(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  retry: memberProcedure
    .input(jobId)
    .mutation(({ ctx, input }) => retryBatch(ctx.services, { ...input, submitter: ctx.caller })),
  /** With its results; can be taken back with `restore` for a while. */
  remove: memberProcedure
    .input(jobId)
    .mutation(({ ctx, input }) => removeBatch(ctx.services, { ...input, ownerId: ctx.caller.userId })),
  restore: memberProcedure
    .input(jobId)
    .mutation(({ ctx, input }) => restoreBatch(ctx.services, { ...input, ownerId: ctx.caller.userId })),
});
