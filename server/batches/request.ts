import { z } from "zod";
import type { BatchAxis } from "../db/index.ts";
import { type AskedJob, type SubmitInput, submitWithUrlsSchema } from "../jobs/index.ts";
import { AppError, lineOfText, parseAsked, pictureLimits } from "../platform/index.ts";
import { mostStyles } from "../presets/index.ts";

/** Jobs of one batch. They are stored in one transaction, which holds the owner's turn for about a second. */
export const maxBatchJobs: number = pictureLimits.batchPictures;
const maxAxes = 3;
/** Of all places together, which each have their values: room for the longest prompts with their negative prompts. */
const maxAxesCharacters = 2_000_000;

/** Members of a request beside `params` and `inputs` that an axis may vary. */
const chosenMembers = ["workflow", "engine", "model"] as const;
const inputPrefix = "inputs.";

const axisMember = {
  param: z
    .string()
    .min(1)
    .max(60)
    .describe(
      "A param by its name, such as `seed`; `inputs.<role>`; `style`, which is put beside the styles of the base's template; or `workflow`, `engine` or `model`. With `steps.<number>.` before it, that of a step of the base.",
    ),
  values: z
    .array(z.union([z.string().max(pictureLimits.promptCharacters), z.number(), z.boolean()]))
    .min(1)
    .max(maxBatchJobs),
};

const axisSchema = z.strictObject({
  ...axisMember,
  replaces: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      "With the param `prompt`: these words of the base's `prompt` and `negativePrompt`, whose place each value takes. Words that are in neither are `workflow_params` (422).",
    ),
  along: z
    .array(z.strictObject(axisMember))
    .max(8)
    .optional()
    .describe("Members that vary together with this one, each with as many values."),
});

const common = {
  title: lineOfText.min(1).max(200).optional(),
  maxPriceUsd: z
    .number()
    .min(0)
    .max(100_000)
    .optional()
    .describe(
      "The most that all jobs together may cost, US dollars; 0: only what is free. Each job is then bound to its price of now, whatever provider takes it. What would cost more is `not_agreed` (409), and nothing is stored.",
    ),
  webhookUrl: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .optional()
    .describe(
      "Public address that gets `batch.completed` when the last job has ended, besides the webhooks of the account.",
    ),
};

const tableSchema = z
  .array(axisSchema)
  .min(1)
  .max(maxAxes)
  .optional()
  .describe(
    "How the list stands as a table: the names of its rows and columns, the last axis from left to right. It has a job for each combination of the values, and none of them is changed by this.",
  );

/** The schema of both forms of a batch; `job` and `base` are the schemas of the requests in them. */
const batchWith = (job: z.ZodType, base: z.ZodType) =>
  z.union([
    z.strictObject({ ...common, jobs: z.array(job).min(1).max(maxBatchJobs), axes: tableSchema }),
    z.strictObject({ ...common, base, axes: z.array(axisSchema).min(1).max(maxAxes) }),
  ]);

const anyObject = z.record(z.string(), z.unknown());

/** More are no longer one wish. */
const maxSteps = 3;
const stepsSchema = z
  .array(anyObject)
  .max(maxSteps)
  .optional()
  .describe(
    "What follows at this place, one after another: requests as of single jobs, each without its first picture (`image`, or `person` of an outfit change), which is the result of the job before. All of them are checked and priced with the batch, and bound to that price. A step that fails or is refused ends its place, whose last result stays; a retry goes on there.",
  );
const withSteps = z.looseObject({ steps: stepsSchema });

/** Jobs are parsed one by one, so that each error names its job and keeps its code. */
const batchSchema = batchWith(withSteps, withSteps);
/** What the document of the API says. */
export const batchDescription = batchWith(
  z.union(submitWithUrlsSchema.options.map((one) => one.extend({ steps: stepsSchema }))),
  anyObject.describe("The request of a job, without the members that the axes give."),
);

type Request = Readonly<Record<string, unknown>>;

/** What callers of this code send; other input is refused all the same. */
export type BatchInput = {
  readonly title?: string;
  readonly maxPriceUsd?: number;
  readonly webhookUrl?: string;
} & (
  | {
      readonly jobs: readonly (SubmitInput & { readonly steps?: readonly Request[] })[];
      readonly axes?: readonly BatchAxis[] | undefined;
    }
  | { readonly base: Request; readonly axes: readonly BatchAxis[] }
);

/** A parsed batch: what is common, and the request of each job in its order. */
export interface BatchRequest {
  readonly title?: string | undefined;
  readonly maxPriceUsd?: number | undefined;
  readonly webhookUrl?: string | undefined;
  readonly axes: readonly BatchAxis[] | null;
  readonly requests: readonly AskedJob[];
}

/** Parses a batch and makes its requests. Throws `bad_request`, and `workflow_params` for axes that do not fit. */
export function parseBatch(input: unknown): BatchRequest {
  const [listed, crossed] = batchSchema.options;
  // The one that was meant: its errors say what is wrong in it.
  const form: z.ZodType<z.output<typeof batchSchema>> = Object.hasOwn(Object(input), "base")
    ? crossed
    : listed;
  const read = parseAsked(form, input);
  const told = { title: read.title, maxPriceUsd: read.maxPriceUsd, webhookUrl: read.webhookUrl };
  // Safe casts: the union of schemas that were made by a function has lost which member has which.
  if ("jobs" in read) {
    const { jobs, axes: table = null } = read as { jobs: Request[]; axes?: BatchAxis[] };
    if (table !== null && countOf(table) !== jobs.length)
      throw new AppError(
        "workflow_params",
        `The axes name ${countOf(table)} places; the list has ${jobs.length}.`,
      );
    if (table !== null) requireShort(table, jobs.length);
    return { ...told, axes: table, requests: jobs.map(parted) };
  }
  const { base, axes } = read as { base: Record<string, unknown>; axes: BatchAxis[] };
  return { ...told, axes, requests: expand(base, axes).map(parted) };
}

/** A request and what is to follow it; the schema has checked that these are objects. */
function parted({ steps, ...request }: Request): AskedJob {
  return { request, steps: (steps as Request[] | undefined) ?? [] };
}

/** The places of the axes together. Throws `workflow_params` for axes that do not fit each other. */
function countOf(axes: readonly BatchAxis[]): number {
  const members = axes.flatMap(membersOf);
  if (new Set(members.map(({ param }) => param)).size < members.length)
    throw new AppError("workflow_params", "Two axes vary the same param.");
  const uneven = axes.find((axis) =>
    membersOf(axis).some(({ values }) => values.length !== axis.values.length),
  );
  if (uneven)
    throw new AppError(
      "workflow_params",
      `What varies along "${uneven.param}" needs as many values as it has.`,
    );
  return axes.reduce((product, { values }) => product * values.length, 1);
}

/** Throws `bad_request` for axes whose values would make a very long text at all places together. */
function requireShort(axes: readonly BatchAxis[], count: number): void {
  const textOf = (axis: BatchAxis) => String(membersOf(axis).map(({ values }) => values.join("")));
  const sizeOf = (axis: BatchAxis) => textOf(axis).length / axis.values.length;
  const characters = Math.round(axes.reduce((sum, axis) => sum + sizeOf(axis) * count, 0));
  if (characters <= maxAxesCharacters) return;
  const message = `The values of the axes have ${characters} characters at all places together; at most ${maxAxesCharacters}.`;
  throw new AppError("bad_request", message, { details: { issues: [{ path: "axes", message }] } });
}

/** One request for each combination of values; the last axis varies fastest. */
function expand(base: Request, axes: readonly BatchAxis[]) {
  const count = countOf(axes);
  if (count > maxBatchJobs)
    throw new AppError(
      "workflow_params",
      `The axes make ${count} jobs; a batch has ${maxBatchJobs} at most.`,
    );
  requireShort(axes, count);
  return axes.reduce<Request[]>(
    (requests, axis) =>
      requests.flatMap((request) =>
        axis.values.map((_value, at) =>
          membersOf(axis).reduce((made, member) => withValue(made, member, member.values[at]), request),
        ),
      ),
    [base],
  );
}

const membersOf = (axis: BatchAxis) => [axis, ...(axis.along ?? [])];

/** The request with one value of an axis, which may be words of its prompts or a further style. */
function withValue(request: Request, member: BatchAxis, value: unknown): Request {
  if (member.replaces !== undefined) return withWords(request, member, String(value));
  return member.param === "style"
    ? withStyle(request, String(value))
    : withMember(request, member.param, value);
}

const promptNames = ["prompt", "negativePrompt"] as const;
const { promptCharacters: maxCharacters } = pictureLimits;

/** With other words in place of some. Throws `workflow_params` where that is too long, before it is made. */
function withOthers(prompt: string, replaces: string, words: string): string {
  const times = prompt.split(replaces, maxCharacters + 2).length - 1;
  if (Math.max(prompt.length, prompt.length + times * (words.length - replaces.length)) > maxCharacters)
    throw new AppError(
      "workflow_params",
      `With its words in place a prompt has more than ${maxCharacters} characters.`,
    );
  return prompt.replaceAll(replaces, () => words);
}

function withWords(request: Request, { param, replaces = "" }: BatchAxis, words: string): Request {
  if (param !== "prompt") throw new AppError("workflow_params", `Words are replaced in "prompt" alone.`);
  const params: Record<string, unknown> = { ...Object(request["params"]) };
  const replaced = promptNames.flatMap((name) => {
    const prompt = params[name];
    const isHaving = typeof prompt === "string" && prompt.includes(replaces);
    return isHaving ? [[name, withOthers(prompt, replaces, words)] as const] : [];
  });
  if (replaced.length === 0)
    throw new AppError(
      "workflow_params",
      `"${replaces}" is not in the prompt, so nothing would be replaced.`,
    );
  return { ...request, params: { ...params, ...Object.fromEntries(replaced) } };
}

function withStyle(request: Request, style: string): Request {
  const template: Record<string, unknown> = { ...Object(request["template"]) };
  const on: unknown[] = Array.isArray(template["styles"]) ? template["styles"] : [];
  const styles = [...on.filter((one) => one !== style), style];
  if (styles.length > mostStyles)
    throw new AppError(
      "workflow_params",
      `With the styles that are on these are ${styles.length}; at most ${mostStyles} go together.`,
    );
  return { ...request, template: { ...template, styles } };
}

const stepPrefix = /^steps\.([1-9])\.(.+)$/;

function withMember(request: Request, param: string, value: unknown): Request {
  const [, number, member] = stepPrefix.exec(param) ?? [];
  if (number !== undefined && member !== undefined)
    return withStepMember(request, Number(number), [member, value]);
  if (chosenMembers.some((name) => name === param)) return { ...request, [param]: value };
  const [group, name] = param.startsWith(inputPrefix)
    ? ["inputs", param.slice(inputPrefix.length)]
    : ["params", param];
  const given = group === "inputs" && isAddress(value) ? { url: value } : value;
  return { ...request, [group]: { ...Object(request[group]), [name]: given } };
}

const isAddress = (value: unknown) => typeof value === "string" && /^https?:\/\//.test(value);

function withStepMember(
  { steps, ...request }: Request,
  number: number,
  [param, value]: [string, unknown],
): Request {
  // Safe cast: the schema of the base has checked that these are objects.
  const known = (steps as Request[] | undefined) ?? [];
  if (number > known.length)
    throw new AppError("workflow_params", `An axis varies step ${number}, and the base has ${known.length}.`);
  return {
    ...request,
    steps: known.map((step, at) => (at === number - 1 ? withMember(step, param, value) : step)),
  };
}

/** The values of the axes at a position, by the names of their params. */
export function valuesAt(axes: readonly BatchAxis[] | null, position: number): BatchValues {
  const values: [string, BatchAxis["values"][number]][] = [];
  let rest = position;
  for (const axis of (axes ?? []).toReversed()) {
    for (const { param, values: own } of membersOf(axis).toReversed()) {
      const value = own[rest % axis.values.length];
      if (value !== undefined) values.push([param, value]);
    }
    rest = Math.floor(rest / axis.values.length);
  }
  return Object.fromEntries(values.toReversed());
}

export type BatchValues = Readonly<Record<string, BatchAxis["values"][number]>>;
