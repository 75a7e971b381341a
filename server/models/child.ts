import { type ChildProcess, spawn } from "node:child_process";
import { childEnv, keptBy, oneAtATime } from "../platform/index.ts";
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
  /** When it answered last, or got an order while it had none. */
  heardAtMs: number;
  idle: NodeJS.Timeout | null;
  /** It gets no order any more, and ends with its last one; the next order starts another child. */
  isRetired: boolean;
  /** Takes it from the place of the child that gets orders. */
  readonly forget: () => void;
}

interface Kept<Result> {
  child: Child<Result> | null;
  /** Also of children that are retired. */
  readonly processes: Set<ChildProcess>;
  orders: number;
  isClosed: boolean;
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
/** A child that is asked and says nothing for so long is taken to hang. */
const silentMs = 30_000;

/** The process ended under an order. */
class ChildEnded extends Error {}

/**
 * A function that asks a model in a child process of its own. What is aborted is not waited for; what the child has already
 * begun, it ends. It throws when the model cannot be run.
 */
export function createModelChild<Task, Result>(options: ModelChildOptions) {
  const keep = keptBy(
    (_db: Services["db"]): Kept<Result> => ({
      child: null,
      processes: new Set(),
      orders: 0,
      isClosed: false,
    }),
    (kept) => {
      kept.isClosed = true;
      for (const process_ of kept.processes) process_.kill("SIGKILL");
    },
  );
  return async (db: Services["db"], { file, task, signal }: Asked<Task>): Promise<Result> => {
    const kept = keep(db);
    const ask = async () => {
      signal.throwIfAborted();
      if (kept.isClosed) throw new Error(`The ${options.title} is closed.`);
      const child = (kept.child ??= startChild<Result>(kept, file, options));
      kept.orders += 1;
      const order: ModelOrder<Task> = { number: kept.orders, task };
      return send(child, order, { signal, options });
    };
    // One of the orders under which a child ended may have ended it: each gets another child once, one after the other.
    return ask().catch((error: unknown) => {
      if (!(error instanceof ChildEnded)) throw error;
      return unlessAborted(signal, oneAtATime(kept, ask));
    });
  };
}

async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function startChild<Result>(kept: Kept<Result>, file: string, { title, script }: ModelChildOptions) {
  const process_ = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, file], {
    env: childEnv(),
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  kept.processes.add(process_);
  const forget = () => {
    if (kept.child === child) kept.child = null;
  };
  const child: Child<Result> = {
    process: process_,
    waiting: new Map(),
    open: 0,
    heardAtMs: 0,
    idle: null,
    isRetired: false,
    forget,
  };
  process_.on("message", ({ number, result, problem }: ModelAnswer<Result>) => {
    child.open -= 1;
    child.heardAtMs = performance.now();
    const order = child.waiting.get(number);
    if (result !== undefined) return order?.resolve(result);
    // A model that fails once may fail again. Its other orders are no part of that.
    retire(child);
    order?.reject(new Error(`The ${title} failed: ${problem}`));
  });
  const onEnd = () => {
    kept.processes.delete(process_);
    forget();
    for (const { reject } of child.waiting.values())
      reject(new ChildEnded(`The process of the ${title} ended.`));
  };
  process_.once("exit", onEnd).once("error", onEnd);
  return child;
}

const isSilent = <Result>({ heardAtMs }: Child<Result>) => performance.now() - heardAtMs >= silentMs;

/** Ends a child with the last of its orders. */
function retire<Result>(child: Child<Result>): void {
  child.forget();
  child.isRetired = true;
  if (child.waiting.size === 0) child.process.kill("SIGKILL");
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
  if (child.open >= mostOpen) {
    // Nobody waits for it any more who would find that it hangs.
    if (isSilent(child)) retire(child);
    throw new Error(`The ${title} has too many questions at the moment.`);
  }
  if (child.open === 0) child.heardAtMs = performance.now();
  child.open += 1;
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  child.waiting.set(order.number, { resolve, reject });
  const onAbort = () => {
    if (isSilent(child)) retire(child);
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (child.idle) clearTimeout(child.idle);
  hold(child.process, "ref");
  child.process.send(order, (error) => error && reject(new ChildEnded(error.message, { cause: error })));
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    child.waiting.delete(order.number);
    if (child.waiting.size === 0) rest(child);
  }
}

/** An idle child keeps this process from ending no longer, and is ended after a while. */
function rest<Result>(child: Child<Result>): void {
  hold(child.process, "unref");
  if (child.isRetired) child.process.kill("SIGKILL");
  else child.idle = setTimeout(() => retire(child), idleMs).unref();
}

function hold(process_: ChildProcess, way: "ref" | "unref"): void {
  process_[way]();
  process_.channel?.[way]();
}
