import { randomInt } from "node:crypto";
import { z } from "zod";
import type { InputRole } from "../engines.ts";
import { isStorable, pictureLimits } from "../platform/index.ts";
import type { ParamName, ParamSpec, Workflow } from "./workflow.ts";

/** Whether a workflow can run with exactly these input roles: it takes each of them, and every required one is given. */
export function takesInputs({ inputs }: Pick<Workflow, "inputs">, roles: readonly InputRole[]): boolean {
  return (
    roles.every((role) => inputs[role] !== undefined) &&
    Object.entries(inputs).every(([role, { required }]) => !required || roles.some((given) => given === role))
  );
}

const pixel = z.int().nonnegative();
const pointsSchema = z.array(z.object({ x: pixel, y: pixel, mode: z.enum(["include", "exclude"]) })).min(1);
const boxSchema = z.object({ left: pixel, top: pixel, width: pixel.min(1), height: pixel.min(1) });

const mostLoras = 5;
const mostWeight = 5;

/** LoRAs of a job in the order in which they follow each other; each at most once. */
export const lorasSchema = z
  .array(
    z.strictObject({
      name: z.string().trim().min(1).max(300).refine(isStorable, "must be plain text"),
      weight: z.number().min(-mostWeight).max(mostWeight).default(1),
    }),
  )
  .max(mostLoras)
  .refine((loras) => new Set(loras.map(({ name }) => name)).size === loras.length, "has one of them twice");

export type Loras = z.output<typeof lorasSchema>;

/** A value as a server lists it: the file of a checkpoint, a sampler, a scheduler. */
export const listedSchema = z
  .string({ error: ({ input }) => (input === undefined ? "must be named, as a server lists it" : undefined) })
  .trim()
  .min(1)
  .max(300)
  .refine(isStorable, "must be plain text");

const pictureStrength = z.number().min(0).max(10).optional();
/** How much the pictures of a role count; the workflow has the range. */
export const pictureStrengths = {
  referenceStrength: pictureStrength.describe(
    "How much the pictures of this role count, for a workflow that has it.",
  ),
  styleStrength: pictureStrength,
  structureStrength: pictureStrength,
  faceStrength: pictureStrength,
};

/** What a request may choose of what servers list, besides LoRAs. */
export const listedParams = {
  checkpoint: listedSchema
    .optional()
    .describe(
      "The file of a checkpoint as the servers list it (`GET /api/v1/workflows/{name}/choices`), for a workflow that takes one. Without a named workflow one is chosen that does.",
    ),
  sampler: listedSchema
    .optional()
    .describe(
      "A sampler by the name that the servers list, for a workflow that takes one. Default: the workflow's own.",
    ),
  scheduler: listedSchema.optional().describe("A scheduler, alike."),
};

/** A value of a param as jobs have it. */
export type ParamValue = Loras | string | number | z.output<typeof pointsSchema> | z.output<typeof boxSchema>;

type ParamType = z.ZodType<ParamValue | undefined>;

function textSchema(spec: ParamSpec & { type: "text" }): z.ZodType<string> {
  if (spec.choices) return z.enum(Object.keys(spec.choices));
  const text = z.string().trim().max(pictureLimits.promptCharacters).refine(isStorable, "must be plain text");
  return spec.required ? text.min(1) : text;
}

function numberSchema(spec: ParamSpec & { type: "integer" | "number" }): z.ZodType<number> {
  if (spec.choices) {
    const values = Object.keys(spec.choices);
    return z
      .number()
      .refine((value) => values.includes(String(value)), `must be one of ${values.join(", ")}`);
  }
  const base = spec.type === "integer" ? z.int() : z.number();
  const ranged = base.min(spec.min ?? 0).max(spec.max ?? Number.MAX_SAFE_INTEGER);
  return spec.multipleOf === undefined ? ranged : ranged.multipleOf(spec.multipleOf);
}

/** Whole numbers that something takes as a seed; both ends count. */
export interface SeedRange {
  readonly min: number;
  readonly max: number;
}

/** Drawn seeds stay below this: most nodes take more, hardly any takes less. */
export const mostDrawn = 2 ** 32 - 1;

/** A new seed for a workflow whose param is this one. */
export function drawSeed(spec: ParamSpec): number {
  const { min = 0, max = mostDrawn } = spec.type === "seed" ? spec : {};
  return randomInt(min, Math.max(min, Math.min(max, min + mostDrawn)) + 1);
}

/** The seed itself, or where it is out of range another one within, always the same for the same seed. */
export function seedWithin(seed: number, { min, max }: SeedRange): number {
  if ((seed >= min && seed <= max) || max < min) return seed;
  const [low, span] = [BigInt(Math.ceil(min)), BigInt(Math.floor(max)) - BigInt(Math.ceil(min)) + 1n];
  const rest = (BigInt(seed) - low) % span;
  return Number(low + (rest < 0n ? rest + span : rest));
}

/** The schema of a given value, without its default. */
export function valueSchema(spec: ParamSpec): z.ZodType<ParamValue> {
  switch (spec.type) {
    case "seed":
      return z
        .int()
        .min(spec.min ?? 0)
        .max(spec.max ?? Number.MAX_SAFE_INTEGER);
    case "text":
      return textSchema(spec);
    case "points":
      return pointsSchema;
    case "box":
      return boxSchema;
    case "loras":
      return lorasSchema;
    case "listed":
      return listedSchema;
    case "integer":
    case "number":
      return numberSchema(spec);
  }
}

/** The schema of a param in a request: the default applies when it is missing. */
function paramSchema(spec: ParamSpec): ParamType {
  const schema = valueSchema(spec);
  if (spec.type === "seed" || spec.type === "loras") return schema.optional();
  if (spec.type === "points" || spec.type === "box") return schema;
  if (spec.type === "listed") return spec.required ? schema : schema.optional();
  if (spec.default !== undefined) return schema.default(spec.default);
  return spec.required ? schema : schema.optional();
}

export type WorkflowParams = Partial<Record<ParamName, ParamValue>>;

/** A price question looks at each workflow of a kind, so that a schema is made once for the params that it is of. */
const schemas = new WeakMap<Workflow["params"], z.ZodType<WorkflowParams>>();

/** Schema of the params of a workflow: strict, with ranges and defaults. `seed` is optional: the caller draws one. */
export function workflowParams({ params }: Pick<Workflow, "params">): z.ZodType<WorkflowParams> {
  const known = schemas.get(params);
  if (known) return known;
  const shape = Object.entries(params).map(([name, spec]) => [name, paramSchema(spec)] as const);
  const schema = z.strictObject(Object.fromEntries(shape));
  schemas.set(params, schema);
  return schema;
}
