import type { JobView } from "@atelier/server/jobs";
import { adjustments } from "@atelier/server/retouch";
import type { Sized } from "../pictures/justify.ts";

type Params = Readonly<Record<string, unknown>>;

/** Params in the order of display; prompts and consent are shown elsewhere. */
const shownParams = [
  "category",
  "scale",
  "checkpoint",
  "sampler",
  "scheduler",
  "steps",
  "guidance",
  "strength",
  "seed",
  "angle",
  ...adjustments,
] as const;
/** Shown only where they change something. */
const isNeutral = (name: ShownParam, value: unknown) =>
  value === 0 && (name === "angle" || adjustments.some((one) => one === name));

type ShownParam = "size" | (typeof shownParams)[number];

export interface ParamRow {
  readonly name: ShownParam;
  readonly value: string;
}

const isPlain = (value: unknown): value is string | number =>
  typeof value === "string" || typeof value === "number";

/** The settings of a job besides its prompts. */
export function paramRows(params: Params): ParamRow[] {
  const { width, height } = params;
  const size: ParamRow[] =
    isPlain(width) && isPlain(height) ? [{ name: "size", value: `${width} × ${height}` }] : [];
  const rest = shownParams.flatMap((name): ParamRow[] => {
    const value = params[name];
    return isPlain(value) && !isNeutral(name, value) ? [{ name, value: String(value) }] : [];
  });
  return [...size, ...rest];
}

/** The prompts of a job; empty strings when there are none. */
export function promptsOf(params: Params): { readonly prompt: string; readonly negativePrompt: string } {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  return { prompt: text(params.prompt), negativePrompt: text(params.negativePrompt) };
}

/** A LoRA that a job applies, with its weight. */
export interface Lora {
  readonly name: string;
  readonly weight: number;
}

export const mostLoras = 5;
export const loraWeight = { min: -5, max: 5 } as const;

/** What is no LoRA is left out. */
export function readLoras(value: unknown): readonly Lora[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  return all
    .flatMap((one): Lora[] => {
      const { name, weight = 1 } = (typeof one === "object" && one !== null ? one : {}) as Readonly<
        Record<string, unknown>
      >;
      const isWeight = typeof weight === "number" && weight >= loraWeight.min && weight <= loraWeight.max;
      return typeof name === "string" && name !== "" && isWeight ? [{ name, weight }] : [];
    })
    .slice(0, mostLoras);
}

const usualEdgePx = 1_024;
const numberOr = (value: unknown, fallback: number) => (typeof value === "number" ? value : fallback);

/** Size of the result; before the end the requested size, so that the card keeps its size when the picture arrives. */
export function sizeOfJob({ params, outputs }: Pick<JobView, "params" | "outputs">): Sized {
  const [output] = outputs;
  if (output !== undefined) return output;
  return { widthPx: numberOr(params.width, usualEdgePx), heightPx: numberOr(params.height, usualEdgePx) };
}
