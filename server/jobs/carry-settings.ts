import { getImage, type OpenedFile, type OpenFileInput, type PngText } from "../images/index.ts";
import type { Services } from "../services.ts";
import { a1111Sampler, a1111Scheduler } from "../carried/index.ts";
import { lorasSchema } from "../workflows/index.ts";
import { findJob, type JobView } from "./read.ts";
import { openResult } from "./result-hold.ts";

type Settings = Pick<JobView, "kind" | "workflow" | "model" | "params" | "template" | "inputs">;

/**
 * As `openResult`, for a download with the settings of its job: a PNG carries them as texts. An upload, which nothing was made
 * from, and a picture whose job was deleted come as they are. Throws what `openResult` throws.
 */
export async function openWithSettings(
  services: Services,
  input: Omit<OpenFileInput, "variant" | "texts">,
): Promise<OpenedFile> {
  const { jobId } = await getImage(services, input);
  const job = jobId === null ? null : await findJob(services, { ownerId: input.ownerId, id: jobId });
  return openResult(services, { ...input, texts: job ? textsOf(job) : [] });
}

/** Our own, from which Create is filled exactly, and the text that most programs of this field read. */
function textsOf({ template, ...settings }: Settings): readonly PngText[] {
  const { kind, workflow, model, params } = settings;
  const from = template === null ? {} : { template };
  // The ids say nothing to anybody who does not have these pictures.
  const inputs = settings.inputs.map(({ role, imageId }) => ({ role, imageId }));
  const given = inputs.length === 0 ? {} : { inputs };
  const own = JSON.stringify({ version: 1, kind, workflow, model, params, ...from, ...given });
  const common = parametersText(settings);
  return [
    ...(common === null ? [] : [{ keyword: "parameters", text: common }]),
    { keyword: "atelier", text: own },
  ];
}

/** As A1111 writes it: the prompt, the negative prompt, and one line of settings. Null without a prompt. */
export function parametersText({
  workflow,
  model,
  params,
}: Pick<Settings, "workflow" | "model" | "params">): string | null {
  const { prompt, negativePrompt, steps, guidance, seed, width, height, checkpoint, sampler, scheduler } =
    params;
  if (typeof prompt !== "string" || prompt === "") return null;
  const settings = [
    ["Steps", steps],
    ["Sampler", named(sampler, a1111Sampler)],
    ["Schedule type", named(scheduler, a1111Scheduler)],
    ["CFG scale", guidance],
    ["Seed", seed],
    ["Size", typeof width === "number" && typeof height === "number" ? `${width}x${height}` : null],
    ["Model", named(checkpoint, stemOf) ?? model ?? workflow],
    ["Version", "Atelier"],
  ] as const;
  const line = settings.flatMap(([name, value]) =>
    typeof value === "number" || typeof value === "string" ? [`${name}: ${quoted(value)}`] : [],
  );
  const negative = typeof negativePrompt === "string" && negativePrompt !== "" ? negativePrompt : null;
  const loras = lorasSchema.safeParse(params["loras"] ?? []).data ?? [];
  const marks = loras.map(({ name, weight }) => ` <lora:${stemOf(name)}:${weight}>`).join("");
  return [
    `${prompt}${marks}`,
    ...(negative === null ? [] : [`Negative prompt: ${negative}`]),
    line.join(", "),
  ].join("\n");
}

const named = (value: unknown, nameOf: (name: string) => string) =>
  typeof value === "string" ? nameOf(value) : null;

/** A1111 names a LoRA without its folder and ending, and cannot write some signs. */
const stemOf = (name: string) =>
  (name.split(/[\\/]/).at(-1) ?? "").replace(/\.\w+$/, "").replaceAll(/[<>:]/g, " ");

/** What would end a value early stands in quotes. */
function quoted(value: string | number): string {
  const text = String(value);
  return /[,:\n"]/.test(text) ? JSON.stringify(text) : text;
}
