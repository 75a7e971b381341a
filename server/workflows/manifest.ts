import { z } from "zod";
import { jobKinds, type InputRole } from "../engines/index.ts";

/** Which params a job may have, with the type that a manifest must give them; texts in the order in which they are joined. */
export const paramTypes = {
  category: "text",
  prompt: "text",
  negativePrompt: "text",
  width: "integer",
  height: "integer",
  steps: "integer",
  scale: "integer",
  guidance: "number",
  strength: "number",
  seed: "seed",
} as const;

export type ParamName = keyof typeof paramTypes;
/** In a fixed order. */
export const paramNames = Object.keys(paramTypes) as ParamName[];

const inputRoles = ["person", "garment", "image", "reference", "mask"] as const satisfies InputRole[];

const address = z.string().regex(/^[^.]+\..+$/, "must be <nodeId>.<input>");
const addresses = z.array(address).min(1);

const textParam = z.strictObject({
  type: z.literal("text"),
  /** Accepted value -> text written into the graph. Without it the value itself is written. */
  choices: z.record(z.string().min(1), z.string()).optional(),
  default: z.string().optional(),
  required: z.boolean().default(false),
  to: addresses,
});

const numberParam = z.strictObject({
  type: z.enum(["integer", "number"]),
  min: z.number().optional(),
  max: z.number().optional(),
  multipleOf: z.int().positive().optional(),
  /** Accepted value -> number written into the graph, in place of a range. */
  choices: z.record(z.string().regex(/^\d+(\.\d+)?$/, "must be a number"), z.number()).optional(),
  default: z.number().optional(),
  required: z.boolean().default(false),
  to: addresses,
});

const seedParam = z.strictObject({ type: z.literal("seed"), to: addresses });

const paramSchema = z.discriminatedUnion("type", [textParam, numberParam, seedParam]);

const link = z.tuple([z.string(), z.int().nonnegative()]);
const withoutSchema = z.strictObject({
  remove: z.array(z.string()).default([]),
  set: z.record(address, z.union([link, z.string(), z.number(), z.boolean()])).default({}),
});

const inputSchema = z.strictObject({
  to: addresses,
  required: z.boolean().default(true),
  /** How the graph changes when an optional picture is not given. */
  without: withoutSchema.optional(),
});

export const manifestSchema = z.strictObject({
  title: z.string().trim().min(1).max(80),
  description: z.string().trim().max(300),
  kind: z.enum(jobKinds),
  /** The lower is preferred within the kind. */
  rank: z.number(),
  vramGib: z.number().nonnegative(),
  params: z.partialRecord(z.enum(paramNames), paramSchema).default({}),
  inputs: z.partialRecord(z.enum(inputRoles), inputSchema).default({}),
  /** Places whose literal is the file of a model. */
  models: z.array(address).default([]),
  prefix: z.array(address).default([]),
  outputs: z.array(z.string()).min(1),
  /** Whether the result is laid back into the picture, so that nothing outside the mask changes. */
  paste: z.boolean().default(false),
  sizeMultipleOf: z.int().min(1).max(256).default(8),
});

export type Manifest = z.output<typeof manifestSchema>;
export type ParamSpec = z.output<typeof paramSchema>;
export type InputSpec = z.output<typeof inputSchema>;
