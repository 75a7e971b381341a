import { z } from "zod";
import { AppError, type ErrorCode, foreignText, withoutQuoted } from "@atelier/server/platform";
import { kindOfRefusal } from "@atelier/server/providers";
import { unfitFailure } from "./unfit.ts";
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
  const said = withoutInputs(failure, userTexts);
  const cause = new Error(`${failure.exception_type}: ${withoutTexts(said, userTexts).slice(0, causeChars)}`);
  const code = codeOf(failure, said);
  const exception = foreignText.parse(cause.message).trim();
  const details = { ...(failure.node_type ? { nodeClass: failure.node_type } : {}), exception };
  const unfit =
    code === "engine_failed" && unfitFailure(`${failure.exception_type}: ${said}`, details, cause);
  if (unfit) return unfit;
  const isTold = code === "node_failed" || (code === "engine_blocked" && failure.exception_type !== blocked);
  const message = isTold ? `The node ${failure.node_type} failed: ${exception}` : undefined;
  return new AppError(code, message, { details, cause });
}

/** Exceptions that a program raises for what it was given: they come again with each run of the same graph. */
const lasting =
  /^(?:builtins\.)?(ValueError|TypeError|KeyError|IndexError|AttributeError|NameError|UnboundLocalError|ImportError|ModuleNotFoundError|AssertionError|NotImplementedError|ZeroDivisionError|FileNotFoundError|NotADirectoryError|IsADirectoryError|PermissionError)$/;
/** What nodes of paid services and of files say in exceptions of any type. */
const lastingTexts: readonly RegExp[] = [
  /unauthori[sz]ed/i,
  /\b(?:401|402|403)\b/,
  /log ?in/i,
  /sign ?in/i,
  /api[ _-]?key/i,
  /credits/i,
  /subscription/i,
  /problem with your account/i,
  /outside the output folder/i,
  /not allowed/i,
  /not supported/i,
  /not implemented/i,
];
/** How they say that a service refuses the content: it does so again, on any server, and may be paid again. */
const moderationTexts: readonly RegExp[] = [
  /\b(?:request|prompt|content|image|input|output|result|picture|video|task|status|generation)s?\b.{0,40}\bmoderated\b/i,
  /\b(?:request|prompt|content|image|picture|video|generation)s? (?:was|were|is|are|has been|have been) flagged\b(?! as (?:too|stuck))/i,
  /\bflagged (?:by .{0,30}(?:moderation|safety|filter|polic)|(?:as|for) (?:being )?(?:nsfw|unsafe|sensitive|inappropriate|explicit|adult))/i,
  /\b(?:request|content|prompt|image|input|output)[ _]moderated\b/i,
  /\b(?:blocked|rejected|refused|declined|filtered|denied)\b.{0,60}\b(?:moderation|content[ _](?:polic|filter|safety)|safety (?:system|filter|polic|check)|usage polic|nsfw|responsible ai)/i,
  /\b(?:moderation|content[ _](?:polic\w+|filter\w*|safety)|safety (?:system|filter|polic\w+|check(?:er)?))\b.{0,40}\b(?:blocked|rejected|refused|declined|denied|flagged|triggered)\b/i,
  /\bviolat\w+ .{0,40}(?:polic|guideline|terms)/i,
  /\b(?:content|usage|safety)[ _-]polic\w+[ _-]violation/i,
  /\bcontent[ _-]violation\b/i,
  /\bmoderation_blocked\b/i,
  /(?:\b|_)prohibited[ _]content\b/i,
  /\bcontent[ _-]?filtered\b/i,
  /\bblocked the request\b/i,
  /sensitive[ _]?content[ _]?detected/i,
  /\bcontains? sensitive information\b/i,
  /\b(?:not pass\w*|failed) (?:the |our |a )?(?:content |image )?(?:moderation|safety check)/i,
  /\bnsfw (?:(?:content|image)s? (?:.{0,20} )?)?detected\b/i,
];
/** The state of a run that a service refused, quoted by itself or in the service's answer. */
const moderatedState = /["'](?:request|content) moderated["']/i;
/** Of the way to the service, which said nothing of the content. */
const passingText = /\btim(?:ed|e)[ -]?out\b|\bconnection (?:error|refused|reset|closed|to)\b/i;
/** The type with which ComfyUI names an execution that a node stopped. */
const blocked = "ExecutionBlocked";

/** `said` is the message without the user's texts: a prompt decides nothing. */
function codeOf(
  { exception_type: type, exception_message, node_type: nodeClass }: Failure,
  said: string,
): ErrorCode {
  const memory = exhaustedMemory(type, withoutPlaces(exception_message));
  if (memory) return memory === "gpu" ? "gpu_out_of_memory" : "out_of_memory";
  if (type === blocked) return "engine_blocked";
  if (isOfAccount(kindOfRefusal(withoutPlaces(said), null))) return "node_failed";
  if (refusesContent(said)) return "engine_blocked";
  if (type === "FileNotFoundError" && nodeClass.startsWith("LoadImage")) return "input_missing";
  if (type === "FileNotFoundError" && /Load/.test(nodeClass)) return "model_missing";
  const isLasting = lasting.test(type) || lastingTexts.some((text) => text.test(said));
  return isLasting ? "node_failed" : "engine_failed";
}

/** Of a paid service that has no money of the operator's left, or has shut the account. */
const isOfAccount = (kind: ReturnType<typeof kindOfRefusal>) => kind === "credit" || kind === "auth";

function refusesContent(said: string): boolean {
  const all = withoutPlaces(said);
  const own = withoutQuoted(all);
  return (
    moderatedState.test(all) || (moderationTexts.some((text) => text.test(own)) && !passingText.test(own))
  );
}

/** Messages of torch and of its backends, such as DirectML, Level Zero, cuBLAS and ONNX, on any device. */
const anyMemory =
  /OutOfMemory|out[ _]of[ _](?:device[ _]|gpu[ _]|video[ _])?memory|can't allocate memory|not enough (?:\w+ ){0,3}memory|failed to allocate memory|_ALLOC_FAILED|ERROR_OUT_OF_(?:DEVICE_MEMORY|RESOURCES)/i;
/** Of the machine, whatever else is named: of torch, NumPy, Python and Windows. */
const ownMainMemory =
  /DefaultCPUAllocator|alloc_cpu|ArrayMemoryError|\[Errno 12\]|WinError (?:8|1455)\b|paging file is too small|out_of_host_memory/i;
/** Of the machine, unless the words are about a card. */
const mainMemory = /^MemoryError\b|Cannot allocate memory|unable to allocate [\d.]+ [kmgt]i?b|bad[_ ]alloc/i;
const ofCard = /cuda|\bhip|thrust|\bgpu\b|video memory/i;

/** The memory that ran out; null when the failure has another reason. */
function exhaustedMemory(exceptionType: string, message: string): "gpu" | "main" | null {
  const said = `${exceptionType}: ${message}`;
  if (ownMainMemory.test(said)) return "main";
  const [isMain, isAny] = [mainMemory.test(said), anyMemory.test(said)];
  if (!isMain && !isAny) return null;
  return isMain && !ofCard.test(said) ? "main" : "gpu";
}

/** The message without the input values of the node and without the user's texts, where they stand whole. */
function withoutInputs(failure: Failure, userTexts: readonly string[]): string {
  const inputs = Object.values(failure.current_inputs)
    .flat()
    .filter((value) => typeof value === "string");
  return [...inputs, ...userTexts].reduce(
    (left, value) => (value.trim().length > 3 ? left.replaceAll(value, hidden) : left),
    failure.exception_message,
  );
}

/** A server's sentence without places and keys, and without any word of the user's texts. */
export function withoutTexts(sentence: string, userTexts: readonly string[]): string {
  return withoutWordsOf(userTexts, withoutPlaces(sentence));
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

const absolute = /^(?:[a-z]:)?[\\/]/i;

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
    // As Python joins them: what begins at the root is in no folder of the server's.
    const folder = absolute.test(filename)
      ? `${parts.join("/")}/`
      : [subfolder, ...parts].filter(Boolean).join("/");
    return { filename: name, subfolder: folder, type };
  });

/** A folder of the server's machine, or one above its own. */
const outside = /^(?:[a-z]:|[\\/])|(?:^|[\\/])\.\.(?:[\\/]|$)/i;
/** Of a place that a server does not serve; 500 on Windows for another drive. */
const placeStatuses = new Set([400, 403, 500]);
/** ComfyUI gives out no file with two dots in its name. */
const isRefusedName = (filename: string, status: number) => status === 400 && filename.includes("..");

/**
 * The error for a file that a node saved where the server serves nothing, which is so each time; null for other refusals:
 * an ordinary place is refused by what stands before the server, and another one may serve it.
 */
export function placeFailure(
  { filename, subfolder }: ServerFile,
  { status, text }: Pick<Answer, "status" | "text">,
): AppError | null {
  const isMeant = outside.test(subfolder) || (isRefusedName(filename, status) && text.trim() === "");
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
  return Object.entries(entry.outputs).flatMap(([id, output]) => {
    const nodeId = entry.meta?.[id]?.display_node ?? id;
    const files = Object.values(output ?? {}).flatMap(filesIn);
    // Some nodes name a file under two outputs.
    const own = new Map(files.map((file) => [[file.type, file.subfolder, file.filename].join("/"), file]));
    return [...own.values()].map((file) => ({ nodeId, ...file }));
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
