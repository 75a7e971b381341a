import { type ChildProcess, spawn } from "node:child_process";
import { childEnv, keptBy } from "../platform/index.ts";
import type { Services } from "../services.ts";

/** What a child is asked. */
export interface ModelOrder<Task> {
  readonly number: number;
  readonly task: Task;
}

/** What a child answers: the result, or the text of its error. */
export interface ModelAnswer<Result> {
  readonly number: number;
  readonly result?: Result;
  readonly problem?: string;
}

interface Waiting<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

/** The child process of this one, with the orders that it has not answered. */
interface Child<Result> {
  readonly process: ChildProcess;
  readonly waiting: Map<number, Waiting<Result>>;
  /** Orders that it has not answered yet, given up ones included. */
  open: number;
  idle: NodeJS.Timeout | null;
}

interface Kept<Result> {
  child: Child<Result> | null;
  orders: number;
}

interface Asked<Task> {
  /** Path of the model. */
  readonly file: string;
  readonly task: Task;
  readonly signal: AbortSignal;
}

export interface ModelChildOptions {
  /** Of the model, for errors. */
  readonly title: string;
  /** Path of the child's file, which gets the path of the model as its argument. */
  readonly script: string;
  /** Orders that may be open at once; a further one is refused. */
  readonly mostOpen: number;
}

/** Starting a child takes a second or two, and it holds 100 to 300 MB. */
const idleMs = 10 * 60_000;

/**
 * A function that asks a model in a child process of its own. What is aborted is not waited for; what the child has already
 * begun, it ends. It throws when the model cannot be run.
 */
export function createModelChild<Task, Result>(options: ModelChildOptions) {
  const keep = keptBy(
    (_db: Services["db"]): Kept<Result> => ({ child: null, orders: 0 }),
    ({ child }) => void child?.process.kill("SIGKILL"),
  );
  return async (db: Services["db"], { file, task, signal }: Asked<Task>): Promise<Result> => {
    signal.throwIfAborted();
    const kept = keep(db);
    const child = (kept.child ??= startChild(kept, file, options));
    kept.orders += 1;
    const order: ModelOrder<Task> = { number: kept.orders, task };
    return send(child, order, { signal, options });
  };
}

function startChild<Result>(kept: Kept<Result>, file: string, { title, script }: ModelChildOptions) {
  const process_ = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, file], {
    env: childEnv(),
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const child: Child<Result> = { process: process_, waiting: new Map(), open: 0, idle: null };
  const forget = () => {
    if (kept.child === child) kept.child = null;
  };
  process_.on("message", ({ number, result, problem }: ModelAnswer<Result>) => {
    child.open -= 1;
    const order = child.waiting.get(number);
    if (result !== undefined) order?.resolve(result);
    else {
      // A model that fails once fails again: the next order starts another child.
      process_.kill("SIGKILL");
      forget();
      order?.reject(new Error(`The ${title} failed: ${problem}`));
    }
  });
  const onEnd = () => {
    forget();
    for (const { reject } of child.waiting.values()) reject(new Error(`The process of the ${title} ended.`));
  };
  process_.once("exit", onEnd).once("error", onEnd);
  return child;
}

interface Sending {
  readonly signal: AbortSignal;
  readonly options: ModelChildOptions;
}

async function send<Task, Result>(
  child: Child<Result>,
  order: ModelOrder<Task>,
  { signal, options: { title, mostOpen } }: Sending,
): Promise<Result> {
  // The child ends what it has begun. Without a limit, given up questions would hold up all later ones.
  if (child.open >= mostOpen) throw new Error(`The ${title} has too many questions at the moment.`);
  child.open += 1;
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  child.waiting.set(order.number, { resolve, reject });
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (child.idle) clearTimeout(child.idle);
  hold(child.process, "ref");
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
function rest<Result>(child: Child<Result>): void {
  hold(child.process, "unref");
  child.idle = setTimeout(() => child.process.kill("SIGKILL"), idleMs).unref();
}

function hold(process_: ChildProcess, way: "ref" | "unref"): void {
  process_[way]();
  process_.channel?.[way]();
}
