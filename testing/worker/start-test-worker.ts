import type { Services } from "@atelier/server/services";
import { compileCacheDir, findBundled, findProgram, killAtExit, runNode } from "../processes/index.ts";
import {
  type EngineScript,
  ordersName,
  type PausePoint,
  releaseSignal,
  type WorkerOrders,
} from "./simulated-engine.ts";

/** The environment of another process on the same database, files and queue, as texts. */
export function processEnv({ env }: Pick<Services, "env">): NodeJS.ProcessEnv {
  const set = Object.entries(env).filter(([, value]) => value !== undefined);
  const texts = set.map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : String(value)]);
  return {
    ...Object.fromEntries(texts),
    NODE_ENV: "test",
    PATH: process.env["PATH"],
    // Most of a start is compiling; tests start many processes on few cores.
    NODE_COMPILE_CACHE: compileCacheDir(),
  };
}

const configs = {
  /** The product's own. */
  real: "testing/config/real.config.ts",
  /** The same, but a worker that the machine holds up is not called lost. */
  steady: "testing/config/steady.config.ts",
  /** As `steady`, but it hands back three seconds after SIGTERM. */
  shortGrace: "testing/config/short-grace.config.ts",
  /** As `steady`, but with a short rest of IOPaint servers after a lost run. */
  shortRest: "testing/config/short-rest.config.ts",
  /** As `steady`, with short times of providers. */
  cloud: "testing/config/cloud.config.ts",
  /** The same, but Replicate runs one picture at a time. */
  narrowCloud: "testing/config/narrow-cloud.config.ts",
  /** The same without limits and caps, and the lock of a delivery is taken over after four seconds. */
  wideCloud: "testing/config/wide-cloud.config.ts",
  /** As `steady`, with a queue of graphics cards. */
  servers: "testing/config/servers.config.ts",
  /** The same with short runs and with lists of servers that are read often. */
  shortRuns: "testing/config/short-runs.config.ts",
};

export interface TestWorkerOptions {
  readonly config?: keyof typeof configs;
  readonly name?: string;
  readonly slots?: number;
  /** Each of them stops the first job that gets there. */
  readonly pauseAt?: readonly PausePoint[];
  /** The prompt on a server that kills the worker. */
  readonly dieOn?: string;
  /** For all of its jobs; a job's own script goes before. */
  readonly script?: EngineScript;
  readonly env?: Readonly<Record<string, string>>;
}

/** A worker process of its own, with the database, files and queue of the given services. */
export interface TestWorker {
  readonly pid: number;
  /** All that it has printed. */
  output(): string;
  /** Waits until the output matches; throws with the output after a while. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** How many lines match. */
  count(line: string): number;
  kill9(): Promise<void>;
  /** SIGSTOP, and SIGCONT. */
  stop(): void;
  cont(): void;
  /** Ends the runs that `hang`, and at once those to come; a stopped worker hears it when it goes on. */
  release(): void;
  /** SIGTERM; resolves with the exit code. */
  term(): Promise<number | null>;
  /** Exit code, null when a signal ended it. */
  readonly exited: Promise<number | null>;
}

/** Starts a worker and returns once it is registered and takes jobs. */
export async function startTestWorker(
  services: Pick<Services, "env">,
  options: TestWorkerOptions = {},
): Promise<TestWorker> {
  const { config = "real", name = "worker", slots = 1 } = options;
  const orders: WorkerOrders = {
    script: options.script ?? {},
    pauseAt: options.pauseAt ?? [],
    dieOn: options.dieOn ?? null,
  };
  const run = runNode(await findProgram("testing/worker/main.ts"), {
    ...processEnv(services),
    LOG_LEVEL: "info",
    ATELIER_CONFIG: await findBundled(configs[config]),
    WORKER_NAME: name,
    WORKER_CPU_SLOTS: String(slots),
    [ordersName]: JSON.stringify(orders),
    ...options.env,
  });
  killAtExit(run.child);
  await run.seen(/node registered/);
  return {
    pid: run.child.pid ?? 0,
    output: run.output,
    waitFor: run.seen,
    count: (line) =>
      run
        .output()
        .split("\n")
        .filter((printed) => printed === line).length,
    kill9: async () => {
      run.child.kill("SIGKILL");
      await run.ended;
    },
    stop: () => void run.child.kill("SIGSTOP"),
    cont: () => void run.child.kill("SIGCONT"),
    release: () => void run.child.kill(releaseSignal),
    term: () => {
      run.child.kill("SIGTERM");
      return run.ended;
    },
    exited: run.ended,
  };
}
