import path from "node:path";
import { types } from "node:util";
import pino, { type DestinationStream, type Logger, type LoggerOptions } from "pino";
import type { Env } from "./env.ts";
import { isFunction } from "./functions.ts";
import { createRepeats } from "./repeats.ts";
import { currentRequestId } from "./request-id.ts";

export interface LogOptions {
  readonly env: Pick<Env, "LOG_LEVEL" | "ATELIER_DATA_DIR" | "FUNCTION_SECONDS">;
  /** Name of the process; its files are `logs/<name>/combined` and `logs/<name>/error`. */
  readonly name: string;
  /** For a command, whose output is its answer: lines go to the files alone, and to stderr where no file can be written. */
  readonly isCommand?: boolean;
}

const secretPaths = [
  "password",
  "*.password",
  "authorization",
  "*.authorization",
  "cookie",
  "*.cookie",
  "apiKey",
];

const keptFields = ["code", "errno", "syscall", "address", "port", "status"] as const;
/** Of PostgreSQL's fields, by the names of both drivers; `detail` and `where` quote rows and parameters. */
const keptSqlFields = [
  "severity",
  "routine",
  ...(["schema", "table", "column", "constraint"] as const).flatMap((name) => [name, `${name}_name`]),
];
const maxMessageChars = 2_000;
const maxCauses = 5;

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly cause?: LoggedError;
  readonly [field: string]: unknown;
}

/** An error for a log line: class, codes and stack, but no values from users or clients. */
function describeError(error: unknown, depth = 0): LoggedError | { readonly type: string } | undefined {
  if (error === undefined) return undefined;
  if (!(error instanceof Error || types.isNativeError(error))) return { type: typeof error };
  const fields = Object.entries(error).filter(
    ([name, value]) =>
      [...keptFields, ...keptSqlFields].some((kept) => kept === name) &&
      (typeof value === "string" || typeof value === "number"),
  );
  // An AggregateError holds one failure per address of a host: the first one is the cause.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const cause = error.cause ?? first;
  return {
    type: error.constructor.name || error.name,
    message: cleanMessage(error),
    stack: framesOf(error),
    ...Object.fromEntries(fields),
    ...(cause === undefined || depth >= maxCauses ? {} : { cause: describeError(cause, depth + 1) }),
  } as LoggedError;
}

/** Errors of the AI SDK that quote the answer of a model, which repeats what users said. */
const quotesAnswer = /^AI_(JSONParse|TypeValidation)Error$/;

/** Removes query parameters, values that a parser quotes, and credentials in addresses. */
function cleanMessage(error: Error): string {
  const message = error.message.replace(/\nparams:[^]*$/, "").replace(/\/\/[^/@\s]*@/g, "//");
  // Data exceptions of PostgreSQL (class 22) and JSON.parse quote what they could not read.
  const isData = "code" in error && /^22...$/.test(String(error.code));
  const cut = quotesAnswer.test(error.name) ? message.replace(/(Text|Value): [^]*$/, "$1: …") : message;
  const text = isData || error.name === "SyntaxError" ? cut.replace(/"[^]*"/, '"…"') : cut;
  return text.length > maxMessageChars ? `${text.slice(0, maxMessageChars)}…` : text;
}

/** The stack begins with the message, which may hold anything; the frames come after it. */
function framesOf({ stack = "", message }: Error): string {
  const at = message === "" ? -1 : stack.indexOf(message);
  const rest = at === -1 ? stack : stack.slice(at + message.length);
  return rest
    .split("\n")
    .filter((line) => /^\s+at .*(?::\d+\)?|>\)|\(native\))$/.test(line))
    .join("\n");
}

/** Lines wait for a slow disk up to this size, and are dropped beyond it. */
const maxWaitingBytes = 4 * 1024 * 1024;

/** One rotating file. Throws when it cannot be opened; a write that fails later is reported and loses its lines. */
async function openFile(file: string, onError: (error: Error) => void): Promise<DestinationStream> {
  // Loaded late: three hundred files, which a process that only reads the configuration does not need.
  const { default: pinoRoll } = await import("pino-roll");
  const stream = await pinoRoll({
    file,
    extension: ".log",
    size: "20m",
    limit: { count: 5 },
    mkdir: true,
    sync: false,
    maxLength: maxWaitingBytes,
  });
  await new Promise<void>((resolve, reject) => {
    stream.once("ready", resolve);
    stream.once("error", reject);
  });
  stream.on("error", onError);
  return stream;
}

/** The file's stream; null when it cannot be opened. */
async function tryFile(file: string, onError: (error: unknown) => void): Promise<DestinationStream | null> {
  try {
    return await openFile(file, onError);
  } catch (error) {
    onError(error);
    return null;
  }
}

type OnLine = (line: string) => void;

/** Receivers of the lines besides console and files, by the log. */
const followersByLog = new WeakMap<Logger, Set<OnLine>>();

/**
 * Calls `onLine` with each line, as JSON, that a log and its children write from now on at level info or above. Returns
 * the function that ends this. A log that `openLog` did not open has no followers.
 */
export function followLog(log: Logger, onLine: OnLine): () => void {
  const followers = followersByLog.get(log);
  followers?.add(onLine);
  return () => void followers?.delete(onLine);
}

const warnLevel = pino.levels.values["warn"] ?? 0;
/** More lines of one kind at once say nothing new. */
const linesAtOnce = 5;

/** What a warning is about: its text, the request, and the names and ids in its fields; figures change from line to line. */
function kindOf(log: Logger, [first, text]: readonly unknown[]): string {
  const fields = typeof first === "object" && first !== null ? Object.entries(first) : [];
  const error: unknown = fields.find(([name]) => name === "err")?.[1];
  const failure = error instanceof Error ? [error.name, "code" in error ? String(error.code) : ""] : [];
  const named = fields.filter(([, value]) => typeof value === "string").flat();
  const message = typeof first === "string" ? first : text;
  return JSON.stringify([message, currentRequestId(), log.bindings(), ...failure, ...named]);
}

/** Leaves out warnings and errors that repeat: what fails each second while a part is away must not fill the disk. */
export function leaveOutRepeats(): LogFnHook {
  const mayTell = createRepeats(linesAtOnce);
  return function (args, method, level) {
    const leftOut = level < warnLevel ? 0 : mayTell(kindOf(this, args));
    if (leftOut === null) return;
    const [first, ...rest]: unknown[] = args;
    const counted =
      leftOut === 0
        ? args
        : typeof first === "object"
          ? [{ ...first, leftOut }, ...rest]
          : [{ leftOut }, ...args];
    Reflect.apply(method, this, counted);
  };
}

type LogFnHook = NonNullable<NonNullable<LoggerOptions["hooks"]>["logMethod"]>;

/** Pino adds the fields of the line to this object, so each line needs its own. */
function requestField(): { readonly requestId?: string } {
  const requestId = currentRequestId();
  return requestId === null ? {} : { requestId };
}

/**
 * Structured lines to the console and to rotating files: all of them in `combined`, errors also in `error`. Where no
 * file can be written, and in a function, the console alone has the lines: a missing log must not fail what it describes.
 */
export async function openLog({ env, name, isCommand = false }: LogOptions): Promise<Logger> {
  const folder = path.resolve(env.ATELIER_DATA_DIR, "logs", name);
  let failure: unknown;
  let report = (error: unknown) => {
    failure ??= error;
  };
  const file = (label: string) => tryFile(path.join(folder, label), (error) => report(error));
  const combined = isFunction(env) ? null : await file("combined");
  const error = isFunction(env) ? null : await file("error");
  const followers = new Set<OnLine>();
  const toFollowers = { write: (line: string) => followers.forEach((onLine) => onLine(line)) };
  const console = isCommand ? process.stderr : process.stdout;
  const streams = pino.multistream([
    ...(isCommand && combined ? [] : [{ level: "trace" as const, stream: console }]),
    { level: "info", stream: toFollowers },
    ...(combined ? [{ level: "trace" as const, stream: combined }] : []),
    ...(error ? [{ level: "error" as const, stream: error }] : []),
  ]);
  const log = pino(
    {
      level: env.LOG_LEVEL,
      base: { process: name },
      redact: secretPaths,
      serializers: { err: describeError },
      mixin: requestField,
      hooks: { logMethod: leaveOutRepeats() },
    },
    streams,
  );
  followersByLog.set(log, followers);
  let isReported = false;
  report = (err) => {
    if (isReported) return;
    isReported = true;
    log.warn({ err, folder }, "the log files cannot be written, the console has all lines");
  };
  if (failure !== undefined) report(failure);
  return log;
}
export type { Logger } from "pino";
