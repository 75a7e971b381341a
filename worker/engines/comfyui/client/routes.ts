import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { AppError, foreignBytes, foreignCount, foreignText } from "@atelier/server/platform";
import {
  ask,
  boundedChunks,
  type CallOptions,
  type ComfyServer,
  jsonOf,
  readBody,
  refusalOf,
  requireDone,
  send,
  type ServerFile,
} from "./http.ts";

/** Takes a waiting prompt out of the queue; a running or unknown one is left alone. */
export async function deleteQueued(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<void> {
  requireDone(await ask(server, { path: "queue", json: { delete: [promptId] } }, options));
}

const entrySchema = z.object({
  outputs: z.record(z.string(), z.record(z.string(), z.unknown())).default({}),
  status: z
    .object({
      status_str: z.string(),
      completed: z.boolean().default(false),
      messages: z.array(z.tuple([z.string(), z.unknown()])).default([]),
    })
    // Servers of early 2024 and older write null here for what went well.
    .nullish(),
});

/** How a prompt ended. */
export type HistoryEntry = z.infer<typeof entrySchema>;

const historySchema = z.record(z.string(), entrySchema);
const maxHistoryBytes = 32 * 1024 * 1024;

/** The end of a prompt; null while it waits or runs, and when the server does not know it. */
export async function readHistory(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<HistoryEntry | null> {
  const path = `history/${encodeURIComponent(promptId)}`;
  return (
    jsonOf(await ask(server, { path, maxBytes: maxHistoryBytes }, options), historySchema)[promptId] ?? null
  );
}

/** Ids of the prompts of a server, in the order of the answer. */
export interface ServerQueue {
  readonly running: readonly string[];
  readonly pending: readonly string[];
}

const entries = z.array(z.tuple([z.number(), z.string()], z.unknown()));
const queueSchema = z.object({ queue_running: entries, queue_pending: entries });

/** Every entry carries its whole graph, so a long queue is a long answer. */
const maxQueueBytes = 64 * 1024 * 1024;

/** What runs and waits on the server. */
export async function readQueue(server: ComfyServer, options: CallOptions): Promise<ServerQueue> {
  const { queue_running: running, queue_pending: pending } = await askQueue(server, options);
  return { running: running.map(([, id]) => id), pending: pending.map(([, id]) => id) };
}

/** A prompt that runs or waits on a server, whoever posted it. */
export interface QueuedPrompt {
  readonly promptId: string;
  readonly graph: unknown;
}

/** The same with the graphs. */
export async function readQueuedPrompts(server: ComfyServer, options: CallOptions): Promise<QueuedPrompt[]> {
  const { queue_running: running, queue_pending: pending } = await askQueue(server, options);
  return [...running, ...pending].map(([, promptId, graph]) => ({ promptId, graph }));
}

async function askQueue(server: ComfyServer, options: CallOptions): Promise<z.infer<typeof queueSchema>> {
  return jsonOf(await ask(server, { path: "queue", maxBytes: maxQueueBytes }, options), queueSchema);
}

export type PromptStatus =
  | { readonly state: "pending" | "running" | "unknown" }
  | { readonly state: "ended"; readonly entry: HistoryEntry };

/** Where a prompt is. A server keeps queue and history in memory only, so a restart makes it unknown. */
export async function findPrompt(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<PromptStatus> {
  const early = await readHistory(server, promptId, options);
  if (early) return { state: "ended", entry: early };
  const { running, pending } = await readQueue(server, options);
  if (running.includes(promptId)) return { state: "running" };
  if (pending.includes(promptId)) return { state: "pending" };
  // It may have ended between the two answers: a prompt leaves the queue and enters the history at once.
  const entry = await readHistory(server, promptId, options);
  return entry ? { state: "ended", entry } : { state: "unknown" };
}

/** Asks the server to unload its models and free its memory; done as soon as it is idle. */
export async function freeMemory(server: ComfyServer, options: CallOptions): Promise<void> {
  const json = { unload_models: true, free_memory: true };
  requireDone(await ask(server, { path: "free", json }, options));
}

const inputs = z.record(z.string(), z.unknown());

const nodeInfo = z.object({
  input: z.object({ required: inputs.optional(), optional: inputs.optional() }),
  output: z.array(z.unknown()).default([]),
  output_node: z.boolean().default(false),
});

/** What a node class takes and gives. An input is `[type or choices, options]`, its choices in either place. */
export type NodeInfo = z.infer<typeof nodeInfo>;

const objectInfoSchema = z.record(z.string(), z.unknown());

/** A class of the server; null when it does not have it. */
export async function readObjectInfo(
  server: ComfyServer,
  nodeClass: string,
  options: CallOptions,
): Promise<NodeInfo | null> {
  const path = `object_info/${encodeURIComponent(nodeClass)}`;
  const classes = jsonOf(await ask(server, { path }, options), objectInfoSchema);
  const parsed = nodeInfo.safeParse(classes[nodeClass]);
  return parsed.success ? parsed.data : null;
}

const queueLengthSchema = z.object({ exec_info: z.object({ queue_remaining: foreignCount }) });

/** Prompts that run and wait on the server, whoever sent them. */
export async function readQueueLength(server: ComfyServer, options: CallOptions): Promise<number> {
  return jsonOf(await ask(server, { path: "prompt" }, options), queueLengthSchema).exec_info.queue_remaining;
}

export interface ComfyDevice {
  readonly name: string;
  /** Such as `cuda`, `mps` or `cpu`; of a CPU the memory is that of the machine. */
  readonly type: string;
  readonly vramTotalBytes: number;
  readonly vramFreeBytes: number;
}

export interface SystemStats {
  readonly version: string | null;
  readonly ramTotalBytes: number | null;
  readonly ramFreeBytes: number | null;
  /** The primary one first. */
  readonly devices: readonly ComfyDevice[];
}

const systemStatsSchema = z.object({
  system: z.object({
    comfyui_version: foreignText.nullish(),
    ram_total: foreignBytes.nullish(),
    ram_free: foreignBytes.nullish(),
  }),
  devices: z.array(
    z.object({ name: foreignText, type: foreignText, vram_total: foreignBytes, vram_free: foreignBytes }),
  ),
});

/** Version and memory of the server; the cheapest sign that it is a ComfyUI server and alive. */
export async function readSystemStats(server: ComfyServer, options: CallOptions): Promise<SystemStats> {
  const { system, devices } = jsonOf(await ask(server, { path: "system_stats" }, options), systemStatsSchema);
  return {
    version: system.comfyui_version ?? null,
    ramTotalBytes: system.ram_total ?? null,
    ramFreeBytes: system.ram_free ?? null,
    devices: devices.map(({ name, type, vram_total, vram_free }) => ({
      name,
      type,
      vramTotalBytes: vram_total,
      vramFreeBytes: vram_free,
    })),
  };
}

const uploadSchema = z.object({ name: z.string(), subfolder: z.string().default("") });
const timeoutMs = 120_000;

export interface Upload {
  readonly image: Blob;
  readonly name: string;
  readonly subfolder: string;
}

/** Stores a picture in the server's input folder, over one of the same name. Returns the value that LoadImage takes. */
export async function uploadImage(
  server: ComfyServer,
  upload: Upload,
  options: CallOptions,
): Promise<string> {
  const form = new FormData();
  form.set("image", upload.image, upload.name);
  form.set("type", "input");
  form.set("subfolder", upload.subfolder);
  form.set("overwrite", "true");
  const answer = await ask(server, { path: "upload/image", form }, { timeoutMs, ...options });
  const { name, subfolder } = jsonOf(answer, uploadSchema);
  return subfolder ? `${subfolder}/${name}` : name;
}

const refusalBytes = 64 * 1024;

export interface View {
  readonly file: ServerFile;
  /** Where it is written. */
  readonly target: string;
  readonly maxBytes: number;
}

/** Downloads a file of the server. Throws `engine_failed` when it is gone or longer than `maxBytes`. */
export async function viewImage(server: ComfyServer, view: View, options: CallOptions): Promise<void> {
  const { filename, subfolder, type } = view.file;
  const request = { path: "view", query: { filename, subfolder, type } };
  const read = async (response: Response) => {
    if (response.status !== 200) throw await refuse(response);
    await pipeline(boundedChunks(response, view.maxBytes), createWriteStream(view.target));
  };
  await send(server, request, { options: { timeoutMs, ...options }, read });
}

async function refuse(response: Response): Promise<AppError> {
  const { status, headers } = response;
  const text = (await readBody(response, refusalBytes)).toString("utf8");
  const contentType = headers.get("content-type") ?? "";
  const refusal = refusalOf({ status, contentType, text });
  if (status !== 404 || contentType.includes("html")) return refusal;
  return new AppError("engine_failed", "The server no longer has the picture that it made.", {
    details: { status },
  });
}
