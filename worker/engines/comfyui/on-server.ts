import { randomUUID } from "node:crypto";
import { openAsBlob } from "node:fs";
import path from "node:path";
import sharp from "sharp";
import type { InputRole } from "@atelier/server/engines";
import { isAppError } from "@atelier/server/platform";
import { buildGraph, seedRange, seedWithin, spellModels, type Workflow } from "@atelier/server/workflows";
import { RunStopped } from "../../base/index.ts";
import type { HeldServer } from "../../servers/index.ts";
import type { EngineContext, EngineOutput, EngineTask } from "../port.ts";
import type { PreparedPictures } from "./canvas.ts";
import {
  adoptPrompt,
  type ComfyServer,
  type OutputFile,
  runPrompt,
  type RunPromptInput,
  uploadImage,
} from "../../clients/comfyui/index.ts";
import { fetchPictures, forwardPreviews, requirePixels } from "./results.ts";

export interface ServerRun {
  readonly task: EngineTask;
  readonly context: EngineContext;
  readonly workflow: Workflow;
  readonly pictures: PreparedPictures;
}

/** Shares of the run before and after the server's own work. */
const startShare = 0.05;
const endShare = 0.93;

/** Uploads the pictures, posts the workflow as a new prompt, and collects the results. */
export async function runOnServer(held: HeldServer, run: ServerRun): Promise<EngineOutput[]> {
  const startedAt = performance.now();
  run.context.onProgress(0, "preparing");
  const files = await post(held, run);
  return collect(held, run, { files, facts: { startedAt, adopted: false } });
}

async function post(held: HeldServer, run: ServerRun): Promise<OutputFile[]> {
  const { task, context, workflow, pictures } = run;
  const { signal } = context;
  const promptId = randomUUID();
  const name = nameRun(task.jobId, promptId);
  const images = await uploadPictures(held, { files: pictures.files, name }, signal);
  const params = { ...task.params, ...pictures.params, ...seedOn(held, run) };
  const built = buildGraph(workflow, { params, images, prefix: `${outputFolder}/${name}` });
  const graph = spellModels(built, held.choices);
  const beforePost = async () => {
    await context.onSubmitting({ server: held.url, externalId: promptId });
    context.onProgress(startShare, "preparing");
  };
  return runPrompt(held, { ...follow(run, { promptId, graph }), beforePost });
}

/** Adopts the prompt that an earlier attempt posted; null when the server does not have it or the prompt failed. */
export async function adoptOnServer(held: HeldServer, run: ServerRun): Promise<EngineOutput[] | null> {
  const { task, context, workflow } = run;
  if (!task.submission) return null;
  const startedAt = performance.now();
  context.onProgress(0, "preparing");
  const { externalId: promptId } = task.submission;
  const files = await adoptPrompt(held, follow(run, { promptId, graph: workflow.graph }));
  return files && collect(held, run, { files, facts: { startedAt, adopted: true } });
}

function follow(
  { task, context }: ServerRun,
  { promptId, graph }: Pick<RunPromptInput, "promptId" | "graph">,
): RunPromptInput {
  return {
    graph,
    promptId,
    // The same id, so that an attempt that adopts the prompt can open its socket.
    clientId: promptId,
    signal: context.signal,
    onBegin: () => context.onBegin(),
    onProgress: (fraction, nodeClass) =>
      context.onProgress(startShare + fraction * (endShare - startShare), stageOf(nodeClass)),
    onPreview: forwardPreviews(context),
    staysOnAbort: isContinuedElsewhere,
    userTexts: [task.params["prompt"], task.params["negativePrompt"]].filter(
      (text) => typeof text === "string",
    ),
  };
}

/** Whether the next attempt adopts the prompt; a cancelled job has none. */
function isContinuedElsewhere(reason: unknown): boolean {
  return reason instanceof RunStopped && reason.reason !== "cancelled";
}

interface Ended {
  readonly files: readonly OutputFile[];
  readonly facts: { readonly startedAt: number; readonly adopted: boolean };
}

async function collect(held: HeldServer, run: ServerRun, { files, facts }: Ended): Promise<EngineOutput[]> {
  const { task, context, workflow, pictures } = run;
  context.onProgress(endShare, "fetching");
  const wanted = files.filter(({ nodeId }) => workflow.outputs.includes(nodeId));
  const { workDir } = task;
  const nodes = workflow.outputs.map((id) => `${id} (${workflow.graph[id]?.class_type ?? ""})`).join(", ");
  const fetched = await fetchPictures(held, { files: wanted, nodes, workDir, signal: context.signal });
  const outputs: EngineOutput[] = [];
  for (const [position, result] of fetched.entries()) {
    const target = path.join(workDir, `result-${position}.png`);
    await finish(pictures, result, target);
    outputs.push({ path: target, mime: "image/png", facts: factsOf(held, run, facts) });
  }
  context.onProgress(1, "fetching");
  return outputs;
}

/** Writes one result. Its pixels are read here for the first time: throws `engine_failed` when they are damaged. */
async function finish(pictures: PreparedPictures, result: string, target: string): Promise<void> {
  try {
    await pictures.finish(result, target);
  } catch (error) {
    if (isAppError(error)) throw error;
    // When the picture is undamaged, our own disk or memory failed.
    await requirePixels(result);
    throw error;
  }
}

function factsOf(held: HeldServer, run: ServerRun, { startedAt, adopted }: Ended["facts"]) {
  return {
    server: held.label,
    ...seedOn(held, run),
    ...(adopted ? { adopted: true } : {}),
    timeMs: Math.round(performance.now() - startedAt),
  };
}

/** The seed as the nodes of the server take it: a larger one is folded into their range, always to the same seed. */
function seedOn({ ranges }: HeldServer, { task, workflow }: ServerRun): { readonly seed?: unknown } {
  const { seed } = task.params;
  if (typeof seed !== "number") return seed === undefined ? {} : { seed };
  return { seed: seedWithin(seed, seedRange(workflow, ranges)) };
}

/** Output folder of our results on a server. */
const outputFolder = "atelier";

const idChars = 8;
const named = new RegExp(`${outputFolder}/([0-9a-f-]{36})-([0-9a-f]{${idChars}})`, "g");

/** Unique name of the files of a run on its server. */
function nameRun(jobId: string, promptId: string): string {
  return `${jobId}-${promptId.slice(0, idChars)}`;
}

/** The job of a prompt, read from the file name of its results; null for prompts of other clients. */
export function jobOfRun({ promptId, graph }: { promptId: string; graph: unknown }): string | null {
  // A user's prompt may contain text like such a name, but without the start of this prompt id.
  for (const [, jobId, start] of (JSON.stringify(graph) ?? "").matchAll(named))
    if (jobId && start && promptId.startsWith(start)) return jobId;
  return null;
}

/** Every stage that a run on a ComfyUI server reports; the message catalogue `stages` names each. */
export const comfyuiStages = ["preparing", "loading", "sampling", "tile", "decoding", "fetching"] as const;

type ComfyuiStage = (typeof comfyuiStages)[number];

const stageByClass: readonly (readonly [RegExp, ComfyuiStage])[] = [
  [/^KSampler|^SamplerCustom/, "sampling"],
  [/UpscaleWithModel/, "tile"],
  [/VAEDecode|SaveImage|PreviewImage/, "decoding"],
  [/Loader/, "loading"],
];

/** The stage that is shown while a node of the class runs. */
function stageOf(nodeClass: string): ComfyuiStage {
  return stageByClass.find(([pattern]) => pattern.test(nodeClass))?.[1] ?? "preparing";
}

/** Input folder of our uploads: servers cannot delete files by a route, so an operator can clear this folder. */
const subfolder = "atelier";

interface Pictures {
  readonly files: EngineTask["inputs"];
  /** Unique per run, because servers cache loaded pictures by name. */
  readonly name: string;
}

/** Uploads the pictures of a run; returns their names on the server by role. */
async function uploadPictures(
  server: ComfyServer,
  { files, name }: Pictures,
  signal: AbortSignal,
): Promise<Partial<Record<InputRole, string>>> {
  const names: Partial<Record<InputRole, string>> = {};
  for (const [role, file] of Object.entries(files) as [InputRole, string][]) {
    const { format } = await sharp(file, { limitInputPixels: false }).metadata();
    const upload = { image: await openAsBlob(file), name: `${name}-${role}.${format}`, subfolder };
    names[role] = await uploadImage(server, upload, { signal });
  }
  return names;
}
