import { z } from "zod";
import { AppError, type ErrorCode, foreignText } from "@atelier/server/platform";
import type { Answer, OutputFile, ServerFile } from "./http.ts";
import type { HistoryEntry } from "./routes.ts";

const executionText = z.string().catch("");

/** The data of `execution_error`, as event and in the history. Traceback and inputs hold paths and users' prompts. */
const schema = z.object({
  node_type: foreignText.catch(""),
  exception_type: executionText,
  exception_message: executionText,
  current_inputs: z.record(z.string(), z.unknown()).catch({}),
});

type Failure = z.infer<typeof schema>;

const causeChars = 500;

/**
 * Our error for an `execution_error`. Node class and exception stand in its details for the job's story, and in the message
 * where the failure is lasting; they hold none of the user's texts, no paths and no keys.
 */
export function executionFailure(data: unknown, userTexts: readonly string[] = []): AppError {
  const parsed = schema.safeParse(data);
  if (!parsed.success) return new AppError("engine_failed");
  const failure = parsed.data;
  const cause = causeOf(failure, userTexts);
  const code = codeOf(failure);
  const exception = foreignText.parse(cause.message).trim();
  const details = { ...(failure.node_type ? { nodeClass: failure.node_type } : {}), exception };
  const message = code === "node_failed" ? `The node ${failure.node_type} failed: ${exception}` : undefined;
  return new AppError(code, message, { details, cause });
}

/** Exceptions that a program raises for what it was given: they come again with each run of the same graph. */
const lasting =
  /^(?:builtins\.)?(ValueError|TypeError|KeyError|IndexError|AttributeError|NameError|UnboundLocalError|ImportError|ModuleNotFoundError|AssertionError|NotImplementedError|ZeroDivisionError|FileNotFoundError|NotADirectoryError|IsADirectoryError|PermissionError)$/;
/** What nodes of paid services and of files say in exceptions of any type. */
const lastingText =
  /unauthori[sz]ed|\b(?:401|402|403)\b|(?:please )?log ?in|sign ?in|api[ _-]?key|credits|subscription|outside the output folder|not allowed|not supported|not implemented/i;
/** How they say that a paid service refuses the content: it does so again, and may be paid again. */
const moderationText =
  /\bmoderat(?:ed|ion)\b|content[ _-]?(?:polic|filter|violation)|\bnsfw\b|\bflagged\b|safety (?:system|filter|polic)|polic(?:y|ies) violation/i;

function codeOf({
  exception_type: type,
  exception_message: message,
  node_type: nodeClass,
}: Failure): ErrorCode {
  const memory = exhaustedMemory(type, message);
  if (memory) return memory === "gpu" ? "gpu_out_of_memory" : "out_of_memory";
  if (type === "ExecutionBlocked") return "engine_blocked";
  if (type === "FileNotFoundError" && nodeClass.startsWith("LoadImage")) return "input_missing";
  if (type === "FileNotFoundError" && /Load/.test(nodeClass)) return "model_missing";
  const isLasting = [lastingText, moderationText].some((text) => text.test(message));
  return lasting.test(type) || isLasting ? "node_failed" : "engine_failed";
}

/** Messages of torch and of its backends, such as DirectML, Level Zero, cuBLAS and ONNX, on any device. */
const anyMemory =
  /OutOfMemory|out[ _]of[ _](?:device[ _]|gpu[ _]|video[ _])?memory|can't allocate memory|not enough (?:\w+ ){0,3}memory|failed to allocate memory|_ALLOC_FAILED|ERROR_OUT_OF_(?:DEVICE_MEMORY|RESOURCES)/i;
/** Of the machine: of torch, NumPy, C++ and Windows. */
const mainMemory =
  /DefaultCPUAllocator|alloc_cpu|Cannot allocate memory|ArrayMemoryError|unable to allocate [\d.]+ [kmgt]i?b|bad[_ ]alloc|paging file is too small|out_of_host_memory/i;

/** The memory that ran out; null when the failure has another reason. */
function exhaustedMemory(exceptionType: string, message: string): "gpu" | "main" | null {
  const isMain = [exceptionType, message].some((text) => mainMemory.test(text));
  if (exceptionType === "MemoryError" || isMain) return "main";
  return anyMemory.test(exceptionType) || anyMemory.test(message) ? "gpu" : null;
}

/** The exception without the input values of the node and without the user's texts, whole or in part. */
function causeOf(failure: Failure, userTexts: readonly string[]): Error {
  const { exception_type, exception_message, current_inputs } = failure;
  const inputs = Object.values(current_inputs)
    .flat()
    .filter((value) => typeof value === "string");
  const message = [...inputs, ...userTexts].reduce(
    (left, value) => (value.trim().length > 3 ? left.replaceAll(value, hidden) : left),
    exception_message,
  );
  const said = withoutWordsOf(userTexts, withoutPlaces(message));
  return new Error(`${exception_type}: ${said.slice(0, causeChars)}`);
}

/** A path keeps its last part; addresses lose their query, and what looks like a key goes. */
function withoutPlaces(message: string): string {
  return message
    .replaceAll(/(https?:\/\/[^\s?#"']+)[?#][^\s"']*/gi, "$1")
    .replaceAll(/\b(?:bearer|token|api[_-]?key|secret|password)["']?\s*[:= ]\s*["']?[\w.~+/-]{8,}/gi, hidden)
    .replaceAll(/\b(?:sk|pk|hf|key)[-_][\w-]{8,}/gi, hidden)
    .replaceAll(/(["'`])(?:[a-z]:)?[\\/][^"'`]*[\\/]([^"'`\\/]*)\1/gi, "$1$2$1")
    .replaceAll(/[^\s"'`<>|]+/g, (word) => {
      const parts = word.includes("://") ? [] : word.split(/[\\/]/);
      return parts.length > 2 ? (parts.at(-1) ?? "") : word;
    });
}

const hidden = "[input]";
/** An escape such as \n is matched by itself, so that it does not become a part of the next word. */
const escapeOrWord = /\\(?:x[\da-f]{2}|u[\da-f]{4}|[a-z])|[\p{L}\p{M}\p{N}]+/giu;

/** Nodes quote a part of a prompt, escape or cut it, so every word that the prompt contains is hidden. */
function withoutWordsOf(texts: readonly string[], message: string): string {
  const all = texts.join("\n").toLowerCase();
  // Shorter words say nothing, except in scripts that have no spaces.
  const isQuoted = (word: string) => /.{3}|\P{ASCII}/u.test(word) && all.includes(word.toLowerCase());
  return message
    .split(hidden)
    .map((part) => part.replaceAll(escapeOrWord, (word) => (isQuoted(word) ? hidden : word)))
    .join(hidden)
    .replaceAll(/\[input\](?:\s+\[input\])+/g, hidden);
}

/** Nodes of extensions leave members out, or put the folder into the name. */
const fileSchema = z
  .object({
    filename: z.string().min(1),
    subfolder: z.string().catch(""),
    type: z.enum(["input", "output", "temp"]).catch("output"),
  })
  .transform(({ filename, subfolder, type }) => {
    const parts = filename.split(/[\\/]/);
    const name = parts.pop() ?? "";
    return { filename: name, subfolder: [subfolder, ...parts].filter(Boolean).join("/"), type };
  });

/** A folder of the server's machine, or one above its own. */
const outside = /^(?:[a-z]:|[\\/])|(?:^|[\\/])\.\.(?:[\\/]|$)/i;
/** Of a place that a server does not serve; 500 on Windows for another drive. */
const placeStatuses = new Set([400, 403, 500]);

/**
 * The error for a file that a node saved where the server serves nothing, which is so each time; null for other refusals.
 * A server that refuses a place says nothing; what refuses our credentials has a page or a sentence.
 */
export function placeFailure(
  { subfolder }: ServerFile,
  { status, text }: Pick<Answer, "status" | "text">,
): AppError | null {
  const isMeant = outside.test(subfolder) || (status !== 500 && text.trim() === "");
  if (!placeStatuses.has(status) || !isMeant) return null;
  const message = `The server does not give out the file that the workflow made (HTTP ${status}): it lies outside of the server's own folders, or a proxy refuses the path /view.`;
  return new AppError("no_picture", message, { details: { status } });
}

/** Whether the prompt succeeded. */
export function hasSucceeded({ status }: HistoryEntry): boolean {
  return !status || status.status_str === "success" || (status.status_str === "" && status.completed);
}

/**
 * The files of an ended prompt. Throws the error of a failed one, without the user's texts, and `engine_interrupted` for a
 * stopped one.
 */
export function outputsOf(entry: HistoryEntry, userTexts: readonly string[] = []): OutputFile[] {
  if (!hasSucceeded(entry)) throw failureOf(entry, userTexts);
  return Object.entries(entry.outputs).flatMap(([nodeId, output]) => {
    const files = Object.values(output ?? {}).flatMap(filesIn);
    const places = files.map(({ type, subfolder, filename }) => [type, subfolder, filename].join("/"));
    // Some nodes name a file under two outputs.
    const own = files.filter((_, at) => places.indexOf(places[at] ?? "") === at);
    return own.map((file) => ({ nodeId, ...file }));
  });
}

/** The files in one output of a node: a list, lists in it, or a single one. Output names are up to the node, and outputs may also be texts. */
function filesIn(value: unknown): z.infer<typeof fileSchema>[] {
  return [value].flat(3).flatMap((item: unknown) => {
    const parsed = fileSchema.safeParse(item);
    return parsed.success ? [parsed.data] : [];
  });
}

function failureOf({ status }: HistoryEntry, userTexts: readonly string[]): AppError {
  const messages = new Map(status?.messages);
  if (messages.has("execution_interrupted")) return new AppError("engine_interrupted");
  return executionFailure(messages.get("execution_error"), userTexts);
}

const validationText = foreignText.catch("");

const nodeError = z.object({
  type: validationText,
  message: validationText,
  details: validationText,
  extra_info: z
    .object({ input_name: validationText, received_value: foreignText.optional().catch(undefined) })
    .partial()
    .catch({}),
});

const nodeErrors = z
  .record(foreignText, z.object({ class_type: validationText, errors: z.array(nodeError).catch([]) }))
  .catch({});

/** The body for a refused prompt, and for one that was accepted in part. */
export const validationSchema = z.object({
  error: z
    .object({
      type: validationText,
      message: validationText,
      extra_info: z.object({ class_type: validationText }).catch({ class_type: "" }),
    })
    // Older servers, and extensions that look at a prompt first, send only a sentence.
    .or(foreignText.transform((text) => ({ type: "", message: text, extra_info: { class_type: "" } })))
    .nullish(),
  node_errors: nodeErrors,
});

type Validation = z.infer<typeof validationSchema>;

interface Fault {
  readonly node: string;
  readonly nodeClass: string;
  readonly type: string;
  readonly message: string;
  readonly input: string;
  readonly value: string | undefined;
  readonly details: string;
}

/** Our error for a refused prompt. Details hold no input values, except names of model files. */
export function validationFailure(validation: Validation, userTexts: readonly string[] = []): AppError {
  const classes = unknownClasses(validation);
  if (classes) return new AppError("node_missing", undefined, { details: { classes } });
  const faults = faultsOf(validation);
  const isSentence = validation.error?.type === "" && Object.keys(validation.node_errors).length === 0;
  if (isSentence) return sentenceFailure(validation.error?.message ?? "", userTexts);
  const models = faults.filter(isMissingModel);
  if (models.length > 0) {
    const missing = models.map(({ nodeClass, input, value }) => ({ class: nodeClass, input, file: value }));
    return new AppError("model_missing", undefined, { details: { models: missing } });
  }
  if (faults.some(isMissingImage)) return new AppError("input_missing");
  const errors = faults.map(({ node, nodeClass, type, input }) => ({ node, class: nodeClass, type, input }));
  return new AppError("graph_invalid", firstFaultText(validation, faults[0]), {
    details: { type: validation.error?.type ?? "node_errors", errors },
  });
}

/** Of an extension or a gate, which may quote the prompt; another server may have none. */
function sentenceFailure(sentence: string, userTexts: readonly string[]): AppError {
  const exception = withoutWordsOf(userTexts, withoutPlaces(sentence));
  const message = exception && `The server refused the workflow: ${exception}`;
  return new AppError("engine_failed", message || undefined, { details: { exception } });
}

/** The server's own words for its first fault; they hold no value but numbers that are out of range. */
function firstFaultText({ error }: Validation, fault: Fault | undefined): string | undefined {
  if (fault?.message)
    return `The server refused the workflow: node ${fault.node} (${fault.nodeClass}) ${fault.input}: ${fault.message}`;
  return error?.message ? `The server refused the workflow: ${error.message}` : undefined;
}

/** Servers before 2026 name the class only in the message. */
const unknownClassText = /because node (.+) does not exist/;

function unknownClasses({ error }: Validation): string[] | null {
  if (error?.type === "missing_node_type")
    return error.extra_info.class_type ? [error.extra_info.class_type] : [];
  const named =
    error && ["invalid_prompt", ""].includes(error.type) ? unknownClassText.exec(error.message) : null;
  return named?.[1] ? [named[1]] : null;
}

function faultsOf({ node_errors }: Validation): Fault[] {
  return Object.entries(node_errors).flatMap(([node, { class_type: nodeClass, errors }]) =>
    errors.map(({ type, message, details, extra_info }) => ({
      node,
      nodeClass,
      type,
      message,
      input: extra_info.input_name ?? "",
      value: extra_info.received_value,
      details,
    })),
  );
}

const modelFile = /\.(safetensors|sft|ckpt|pth?|bin|gguf|onnx)$/i;

/** A wrong choice that is not a model file, such as a sampler, is a fault of the graph. */
function isMissingModel({ type, value }: Fault): boolean {
  return type === "value_not_in_list" && value !== undefined && modelFile.test(value);
}

function isMissingImage({ type, nodeClass, input, details }: Fault): boolean {
  if (!nodeClass.startsWith("LoadImage") || input !== "image") return false;
  return type === "value_not_in_list" || /invalid image file/i.test(details);
}
