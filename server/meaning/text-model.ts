import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { keptBy } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { textModelPath } from "./model-file.ts";

export interface Order {
  readonly number: number;
  readonly texts: readonly string[];
}

export interface Answer {
  readonly number: number;
  readonly vectors?: readonly Float32Array[];
  readonly problem?: string;
}

interface Waiting {
  readonly resolve: (vectors: readonly Float32Array[]) => void;
  readonly reject: (error: Error) => void;
}

/** The child process of this one, with the orders that it has not answered. */
interface Child {
  readonly process: ChildProcess;
  readonly waiting: Map<number, Waiting>;
  /** Orders that it has not answered yet, given up ones included. */
  open: number;
  idle: NodeJS.Timeout | null;
}

interface Kept {
  child: Child | null;
  orders: number;
}

/** Starting the child takes a second or two, and it holds about 300 MB. */
const idleMs = 10 * 60_000;
/** One order holds the child for a second or so, and a question waits for no more than that. */
const textsPerOrder = 8;
/** About two seconds of single questions. */
const mostOpen = 20;

const keep = keptBy(
  (_db: Services["db"]): Kept => ({ child: null, orders: 0 }),
  ({ child }) => void child?.process.kill("SIGKILL"),
);

/**
 * Vectors of length 1 of texts, in their order, made by the added text model in a process of its own. What is aborted is
 * not ordered any more; what the child has already begun, it ends. Throws when the model cannot be run.
 */
export async function embedOnboard(
  { db, env }: Pick<Services, "db" | "env">,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<number[][]> {
  const kept = keep(db);
  const vectors: number[][] = [];
  for (let at = 0; at < texts.length; at += textsPerOrder) {
    signal.throwIfAborted();
    const child = (kept.child ??= startChild(kept, textModelPath(env)));
    kept.orders += 1;
    const order: Order = { number: kept.orders, texts: texts.slice(at, at + textsPerOrder) };
    for (const vector of await send(child, order, signal)) vectors.push([...vector]);
  }
  return vectors;
}

function startChild(kept: Kept, file: string): Child {
  // Not `fork`, and no URL of this module: a bundler would resolve those itself.
  const script = path.join(path.dirname(fileURLToPath(import.meta.url)), "embed-child.ts");
  const process_ = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, file], {
    // No secrets of the environment; ONNX Runtime would report facts of the model to Microsoft without the second name.
    env: { NODE_ENV: "production", ORT_DISABLE_TELEMETRY: "1" },
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const child: Child = { process: process_, waiting: new Map(), open: 0, idle: null };
  const forget = () => {
    if (kept.child === child) kept.child = null;
  };
  process_.on("message", ({ number, vectors, problem }: Answer) => {
    child.open -= 1;
    const order = child.waiting.get(number);
    if (vectors) order?.resolve(vectors);
    else {
      // A model that fails once fails again: the next order starts another child.
      process_.kill("SIGKILL");
      forget();
      order?.reject(new Error(`The text model failed: ${problem}`));
    }
  });
  const onEnd = () => {
    forget();
    for (const { reject } of child.waiting.values())
      reject(new Error("The process of the text model ended."));
  };
  process_.once("exit", onEnd).once("error", onEnd);
  return child;
}

async function send(child: Child, order: Order, signal: AbortSignal): Promise<readonly Float32Array[]> {
  // The child ends what it has begun. Without a limit, given up questions would hold up all later ones.
  if (child.open >= mostOpen) throw new Error("The text model has too many questions at the moment.");
  child.open += 1;
  const { promise, resolve, reject } = Promise.withResolvers<readonly Float32Array[]>();
  child.waiting.set(order.number, { resolve, reject });
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (child.idle) clearTimeout(child.idle);
  hold(child, "ref");
  child.process.send(order, (error) => error && reject(error));
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    child.waiting.delete(order.number);
    if (child.waiting.size === 0) rest(child);
  }
}

/** An idle child keeps this process from ending no longer, and ends itself after a while. */
function rest(child: Child): void {
  hold(child, "unref");
  child.idle = setTimeout(() => child.process.kill("SIGKILL"), idleMs).unref();
}

function hold(child: Child, way: "ref" | "unref"): void {
  child.process[way]();
  child.process.channel?.[way]();
}
