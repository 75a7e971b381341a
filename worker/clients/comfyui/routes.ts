import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { z, type ZodType } from "zod";
import { AppError, foreignBytes, foreignCount, foreignText } from "@atelier/server/platform";
import { placeFailure } from "./failures.ts";
import {
  ask,
  boundedChunks,
  type CallOptions,
  type ComfyServer,
  jsonOf,
  limitSilence,
  readBody,
  unexpectedAnswer,
  requireDone,
  send,
  type ServerFile,
} from "./http.ts";

/** The items that can be read; one that cannot hides none of the others. */
const readable = <T>(item: ZodType<T>, list: readonly unknown[]): T[] =>
  list.flatMap((given) => {
    const read = item.safeParse(given);
    return read.success ? [read.data] : [];
  });

const message = z.tuple([z.string(), z.unknown()]);

/** What a node or an extension adds in a form of its own spoils nothing else. */
const entrySchema = z.object({
  outputs: z.record(z.string(), z.unknown()).catch({}),
  /** By the id of a node, of which node of the graph it is a part: some become several ones while they run. */
  meta: z
    .record(z.string(), z.object({ display_node: z.string() }).nullable().catch(null))
    .optional()
    .catch({}),
  status: z
    .object({
      status_str: z.string().catch(""),
      completed: z.boolean().catch(false),
      messages: z
        .array(z.unknown())
        .catch([])
        .transform((list) => readable(message, list)),
    })
    // Servers of early 2024 and older send null for a success.
    .nullish()
    // One in another form says nothing of a success.
    .catch({ status_str: "", completed: false, messages: [] }),
});

/** The end of a prompt as the history has it. */
export type HistoryEntry = z.infer<typeof entrySchema>;

/** Some servers answer with all of their prompts; only the one that was asked for is read. */
const historySchema = z.record(z.string(), z.unknown());
const maxHistoryBytes = 32 * 1024 * 1024;

/** The end of a prompt; null while it is pending or running, and when the server does not know it. */
export async function readHistory(
  server: ComfyServer,
  promptId: string,
  options: CallOptions,
): Promise<HistoryEntry | null> {
  const path = `history/${encodeURIComponent(promptId)}`;
  const entries = jsonOf(await ask(server, { path, maxBytes: maxHistoryBytes }, options), historySchema);
  return entrySchema.safeParse(entries[promptId]).data ?? null;
}

/** Ids of the prompts of a server, in the order of the answer. */
export interface ServerQueue {
  readonly running: readonly string[];
  readonly pending: readonly string[];
}

/** Number, id and graph, of any client. */
const queued = z.tuple([z.unknown(), z.union([z.string(), z.number()]).transform(String)], z.unknown());
/** A list of which nothing can be read may hold our prompt: it is not the same as an empty one. */
const entries = z
  .array(z.unknown())
  .transform((list) => ({ list, read: readable(queued, list) }))
  .refine(({ list, read }) => list.length === 0 || read.length > 0)
  .transform(({ read }) => read);
const queueSchema = z.object({ queue_running: entries, queue_pending: entries });

/** Entries of a queue contain their whole graphs, and LoadImage names every file of the input folder. */
const maxListBytes = 64 * 1024 * 1024;

/** Ids of the running and pending prompts. */
export async function readQueue(server: ComfyServer, options: CallOptions): Promise<ServerQueue> {
  const { queue_running: running, queue_pending: pending } = await askQueue(server, options);
  return { running: running.map(([, id]) => id), pending: pending.map(([, id]) => id) };
}

/** A running or pending prompt, of any client. */
export interface QueuedPrompt {
  readonly promptId: string;
  readonly graph: unknown;
}

/** The running and pending prompts with their graphs. */
export async function readQueuedPrompts(server: ComfyServer, options: CallOptions): Promise<QueuedPrompt[]> {
  const { queue_running: running, queue_pending: pending } = await askQueue(server, options);
  return [...running, ...pending].map(([, promptId, graph]) => ({ promptId, graph }));
}

async function askQueue(server: ComfyServer, options: CallOptions): Promise<z.infer<typeof queueSchema>> {
  return jsonOf(await ask(server, { path: "queue", maxBytes: maxListBytes }, options), queueSchema);
}

export type PromptStatus =
  | { readonly state: "pending" | "running" | "unknown" }
  | { readonly state: "ended"; readonly entry: HistoryEntry };

/** The state of a prompt. Servers keep queue and history in memory only, so after a restart it is unknown. */
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
  // Read again: the prompt may have moved from the queue to the history between the two answers.
  const entry = await readHistory(server, promptId, options);
  return entry ? { state: "ended", entry } : { state: "unknown" };
}

/** Makes the server unload its models and free its memory as soon as it is idle. */
export async function freeMemory(server: ComfyServer, options: CallOptions): Promise<void> {
  const json = { unload_models: true, free_memory: true };
  requireDone(await ask(server, { path: "free", json }, options));
}

const inputs = z.record(z.string(), z.unknown()).catch({});

/** Inputs in another form are none, outputs unknown, as of nodes with any number of them: the server has the class all the same. */
const nodeInfo = z.object({
  input: z.object({ required: inputs, optional: inputs }).catch({ required: {}, optional: {} }),
  output: z.array(z.unknown()).optional().catch(undefined),
  output_node: z.coerce.boolean().catch(false),
});

/** Inputs and outputs of a node class. An input is `[type or choices, options]`; choices may be in either part. */
export type NodeInfo = z.infer<typeof nodeInfo>;

const objectInfoSchema = z.record(z.string(), z.unknown());

/** A node class; null when the server does not have it. */
export async function readObjectInfo(
  server: ComfyServer,
  nodeClass: string,
  options: CallOptions,
): Promise<NodeInfo | null> {
  const path = `object_info/${encodeURIComponent(nodeClass)}`;
  const answer = await ask(server, { path, maxBytes: maxListBytes }, options);
  const parsed = nodeInfo.safeParse(jsonOf(answer, objectInfoSchema)[nodeClass]);
  return parsed.success ? parsed.data : null;
}

const queueLengthSchema = z.object({
  exec_info: z.object({ queue_remaining: foreignCount.nullable().catch(null) }),
});

/** Number of running and pending prompts, of all clients; null when the server does not say. */
export async function readQueueLength(server: ComfyServer, options: CallOptions): Promise<number | null> {
  return jsonOf(await ask(server, { path: "prompt" }, options), queueLengthSchema).exec_info.queue_remaining;
}

export interface ComfyDevice {
  readonly name: string;
  /** Such as `cuda`, `mps` or `cpu`; for a CPU the memory is that of the machine. */
  readonly type: string;
  /** Null when the server does not know it. */
  readonly vramTotalBytes: number | null;
  readonly vramFreeBytes: number | null;
}

export interface SystemStats {
  readonly version: string | null;
  readonly ramTotalBytes: number | null;
  readonly ramFreeBytes: number | null;
  /** The primary one first. */
  readonly devices: readonly ComfyDevice[];
}

const bytes = foreignBytes.nullish().catch(null);

const systemStatsSchema = z.object({
  system: z.object({
    comfyui_version: foreignText.nullish().catch(null),
    ram_total: bytes,
    ram_free: bytes,
  }),
  devices: z
    .array(
      z
        .object({
          name: foreignText.catch("unknown"),
          type: foreignText.transform((type) => type.toLowerCase()).catch("unknown"),
          // Drivers that do not know say 0, null or nothing.
          vram_total: bytes,
          vram_free: bytes,
        })
        .nullable()
        .catch(null),
    )
    .catch([]),
});

type Device = NonNullable<z.infer<typeof systemStatsSchema>["devices"][number]>;

const toDevice = ({ name, type, vram_total, vram_free }: Device): ComfyDevice => ({
  name,
  type,
  vramTotalBytes: vram_total ?? null,
  vramFreeBytes: vram_free ?? null,
});

/** Version and memory; also the cheapest check that a ComfyUI server answers. */
export async function readSystemStats(server: ComfyServer, options: CallOptions): Promise<SystemStats> {
  const { system, devices } = jsonOf(await ask(server, { path: "system_stats" }, options), systemStatsSchema);
  return {
    version: system.comfyui_version ?? null,
    ramTotalBytes: system.ram_total ?? null,
    ramFreeBytes: system.ram_free ?? null,
    devices: devices.flatMap((device) => (device ? [toDevice(device)] : [])),
  };
}

const uploadSchema = z.object({ name: z.string(), subfolder: z.string().catch("") });
const timeoutMs = 120_000;
/** Of a large file over the line of a home. */
const viewMs = 600_000;

export interface Upload {
  readonly image: Blob;
  readonly name: string;
  readonly subfolder: string;
}

/** Uploads a picture to the input folder, replacing one of the same name. Returns the value for LoadImage. */
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
/** With a good status it is one of a proxy. */
const isPage = (response: Response) => /\b(?:html|json)\b/i.test(typeOf(response));
const typeOf = ({ headers }: Response) => headers.get("content-type") ?? "";

export interface View {
  readonly file: ServerFile;
  /** Path of the downloaded file. */
  readonly target: string;
  readonly maxBytes: number;
  /** Without a part of the file. */
  readonly silenceMs?: number;
}

/**
 * Downloads a file of the server. Throws `engine_failed` when it is gone or longer than `maxBytes`, and `no_picture` when
 * its place is none that the server serves, as that of a node which saves to a folder of its own.
 */
export async function viewImage(server: ComfyServer, view: View, options: CallOptions): Promise<void> {
  const { filename, subfolder, type } = view.file;
  const silence = limitSilence(view.silenceMs ?? timeoutMs);
  const request = { path: "view", query: { filename, subfolder, type } };
  const read = async (response: Response) => {
    if (response.status !== 200 || isPage(response)) throw await refuse(response, view.file);
    await pipeline(boundedChunks(response, view.maxBytes), silence.noted, createWriteStream(view.target));
  };
  const signal = AbortSignal.any([options.signal, silence.signal]);
  const limits = { timeoutMs: viewMs, ...options, signal };
  await send(server, request, { options: limits, read }).finally(silence.end);
}

async function refuse(response: Response, file: ServerFile): Promise<AppError> {
  const { status } = response;
  const text = (await readBody(response, refusalBytes)).toString("utf8");
  const contentType = typeOf(response);
  const refusal = placeFailure(file, { status, text }) ?? unexpectedAnswer({ status, contentType, text });
  if (status !== 404 || contentType.includes("html")) return refusal;
  return new AppError("engine_failed", "The server no longer has the picture that it made.", {
    details: { status },
  });
}
