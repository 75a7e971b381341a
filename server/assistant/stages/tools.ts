import { tool, type ToolSet } from "ai";
import { z } from "zod";
import type { AnswerPart } from "../../db/index.ts";
import { type InputRole, type JobKind, optionalInputs, requiredInputs } from "../../engines.ts";
import { getImage, searchImages } from "../../images/index.ts";
import { estimate, get, type Submitter } from "../../jobs/index.ts";
import { isAppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { propose, type ProposedRequest } from "../proposals.ts";
import { recall } from "../recall/recall.ts";
import type { QuestionRow } from "../life.ts";
import { periodOf } from "../../platform/days.ts";
import { isMemoryPaused, readTimeZone } from "../settings.ts";

export interface ToolContext {
  readonly run: QuestionRow;
  /** The user of the question: tools can do what this user can, and nothing more. */
  readonly submitter: Submitter;
  /** Shows something at the present end of the answer. */
  readonly show: (part: Shown) => void;
}

/** What an answer shows, before it has its place there. */
export type Shown =
  | Omit<Extract<AnswerPart, { type: "images" }>, "at">
  | Omit<Extract<AnswerPart, { type: "proposal" }>, "at">
  | Omit<Extract<AnswerPart, { type: "unseen" }>, "at">;

const day = z.iso.date().describe("ISO 8601 day");
const words = z.array(z.string().max(100)).max(12);

const proposedKinds = [
  "text_to_image",
  "edit",
  "outfit_change",
  "upscale",
  "remove_background",
] as const satisfies JobKind[];

const jobInput = z.object({
  kind: z
    .enum(proposedKinds)
    .describe("edit changes a part of a picture by description; outfit_change needs person and garment"),
  prompt: z.string().max(2_000).optional().describe("for text_to_image and edit"),
  width: z.number().int().optional(),
  height: z.number().int().optional(),
  scale: z
    .union([z.literal(2), z.literal(4)])
    .optional()
    .describe("for upscale"),
  image: z.string().optional().describe("id of a picture of the gallery"),
  person: z.string().optional().describe("id of the picture of the person, for outfit_change"),
  garment: z.string().optional().describe("id of the picture of the garment, for outfit_change"),
  reference: z
    .string()
    .optional()
    .describe("id of a picture of what things or people look like, for text_to_image and edit"),
  reference2: z.string().optional().describe("a second one"),
  reference3: z.string().optional().describe("a third one"),
  style: z.string().optional().describe("id of a picture whose style it shall have, for text_to_image"),
  structure: z.string().optional().describe("id of a picture whose outlines it follows, for text_to_image"),
});

const titles: Readonly<Record<(typeof proposedKinds)[number], string>> = {
  text_to_image: "Create an image",
  edit: "Edit a picture",
  outfit_change: "Change the outfit",
  upscale: "Upscale a picture",
  remove_background: "Cut out a picture",
};

/** The request of a job in the words of `submit`: only what the kind takes. */
function requestOf(input: z.output<typeof jobInput>): ProposedRequest {
  const { kind, prompt, width, height, scale, ...pictures } = input;
  const roles: readonly InputRole[] = [...requiredInputs(kind), ...optionalInputs(kind)];
  const given: Partial<Record<InputRole, string | undefined>> = pictures;
  const inputs = Object.fromEntries(
    roles.flatMap((role) => (given[role] === undefined ? [] : [[role, given[role]]])),
  );
  const params = {
    text_to_image: { prompt, width, height },
    edit: { prompt },
    outfit_change: {},
    upscale: { scale },
    remove_background: {},
  }[kind];
  const set = Object.entries(params).filter(([, value]) => value !== undefined);
  return { kind, inputs, params: Object.fromEntries(set) };
}

/** A tool never ends the answer: what went wrong is a result that the model reads. */
async function orReason<T>(
  { log }: Services,
  work: () => Promise<T>,
): Promise<T | { readonly error: string }> {
  try {
    return await work();
  } catch (error) {
    if (isAppError(error) && error.code !== "internal") return { error: error.message };
    log.error({ err: error }, "a tool of the assistant failed");
    return { error: "This does not work at the moment." };
  }
}

const maxFound = 20;

const forms = {
  search_gallery: {
    description: "Finds pictures of the user by words of their titles and prompts; without words the newest.",
    inputSchema: z.object({ words, from: day.optional(), to: day.optional() }),
  },
  show_images: {
    description: "Shows pictures of the user at this place of the answer.",
    inputSchema: z.object({ imageIds: z.array(z.string()).min(1).max(12) }),
  },
  describe_job: {
    description: "The settings and the state of one job of the user.",
    inputSchema: z.object({ jobId: z.string() }),
  },
  search_memory: {
    description: "Searches what is remembered of earlier talks with this user.",
    inputSchema: z.object({ query: z.string().max(500), from: day.optional(), to: day.optional() }),
  },
  estimate_job: {
    description: "Where a job would run, how long it would take and what it would cost. Starts nothing.",
    inputSchema: jobInput,
  },
  propose_job: {
    description: "Proposes a job. The user sees it as a card and may start it; nothing starts by itself.",
    inputSchema: jobInput,
  },
};

/** The tools of a trial: the model sees what it always sees, and a call of one ends the answer, since none does anything. */
export function idleTools(): ToolSet {
  const all = Object.entries<{ readonly description: string; readonly inputSchema: z.ZodType }>(forms);
  return Object.fromEntries(all.map(([name, form]) => [name, tool(form)]));
}

/**
 * The tools of the responder. They read what the user owns and store proposals; none starts, deletes, sends or pays
 * anything, so a model that obeys an attacker can do no more than speak and propose.
 */
export function toolsFor(services: Services, { run, submitter, show }: ToolContext): ToolSet {
  const ownerId = submitter.userId;
  return {
    search_gallery: tool({
      ...forms.search_gallery,
      execute: ({ words: wanted, from, to }) =>
        orReason(services, async () => {
          const timezone = await readTimeZone(services, ownerId);
          const period = periodOf(timezone, { from, to });
          const asked = { ownerId, words: wanted, timezone, ...period, limit: maxFound };
          return { pictures: await searchImages(services, asked) };
        }),
    }),
    show_images: tool({
      ...forms.show_images,
      execute: ({ imageIds }) =>
        orReason(services, async () => {
          const own = await Promise.all(imageIds.map((id) => getImage(services, { ownerId, id })));
          show({ type: "images", imageIds: own.map(({ id }) => id) });
          return { shown: own.length };
        }),
    }),
    describe_job: tool({
      ...forms.describe_job,
      execute: ({ jobId }) =>
        orReason(services, async () => {
          const job = await get(services, { ownerId, id: jobId });
          const { kind, status, params, engine, workflow, model, inputs, outputs, createdAt, error } = job;
          return { kind, status, params, engine, workflow, model, inputs, outputs, createdAt, error };
        }),
    }),
    search_memory: tool({
      ...forms.search_memory,
      execute: ({ query, from, to }) =>
        orReason(services, async () => {
          if (await isMemoryPaused(services, ownerId)) return { memories: [] };
          const period = periodOf(await readTimeZone(services, ownerId), { from, to });
          const hits = await recall(services, ownerId, query, { limit: maxFound, period, runId: run.id });
          return { memories: hits.map(({ text, from: since, to: until }) => ({ text, since, until })) };
        }),
    }),
    estimate_job: tool({
      ...forms.estimate_job,
      execute: (input) =>
        orReason(services, () => {
          const request = requestOf(input);
          const params = request.kind === "outfit_change" ? { consent: true } : request.params;
          return estimate(services, { ...request, params }, submitter);
        }),
    }),
    propose_job: tool({
      ...forms.propose_job,
      execute: (input) =>
        orReason(services, async () => {
          const title = titles[input.kind];
          const request = requestOf(input);
          const proposal = await propose(services, { runId: run.id, title, request, submitter });
          show({ type: "proposal", proposalId: proposal.id });
          return { proposed: title, state: proposal.state };
        }),
    }),
  };
}
