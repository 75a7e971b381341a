import type { EngineName, Need } from "@atelier/server/engines";
import type { Job, Lease } from "@atelier/server/jobs";
import { AppError, type Config } from "@atelier/server/platform";
import { RunStopped, type StopReason } from "./base/index.ts";

/** The slot of the node that a run uses. */
interface RunSlot {
  readonly lease: Lease;
  readonly queue: string;
  readonly engine: EngineName;
  readonly need: Need;
}

interface Run extends RunSlot {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
  hasBegun: boolean;
}

/** The jobs that this process runs now. */
export interface Runs {
  add(slot: RunSlot, work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  leases(): Lease[];
  /** Number of runs of the queue. */
  count(queue: string): number;
  countOfEngine(engine: EngineName): number;
  /** The engine has begun the work, so the run needs no further server. */
  noteBegun(lease: Lease): void;
  /** Runs whose engine has not begun the work. */
  unbegun(): readonly RunSlot[];
  /** Stops the run of this lease only; a later attempt of the same job continues. */
  stop(lease: Lease, reason: StopReason): void;
  stopAll(reason: StopReason): void;
  /** Stops claims: no job is claimed after this call. */
  close(): void;
  isClosed(): boolean;
  /** Resolves when no run is left. */
  settled(): Promise<void>;
}

const keyOf = ({ jobId, attempt }: Lease) => `${jobId}/${attempt}`;

export function createRuns(): Runs {
  const runs = new Map<string, Run>();
  let closed = false;
  const abort = (run: Run, reason: StopReason) => run.controller.abort(new RunStopped(reason));
  return {
    async add(slot, work) {
      const controller = new AbortController();
      const ended = work(controller.signal);
      const run: Run = { ...slot, controller, ended, hasBegun: false };
      const key = keyOf(slot.lease);
      runs.set(key, run);
      try {
        await ended;
      } finally {
        runs.delete(key);
      }
    },
    leases: () => [...runs.values()].map((run) => run.lease),
    count: (queue) => [...runs.values()].filter((run) => run.queue === queue).length,
    countOfEngine: (engine) => [...runs.values()].filter((run) => run.engine === engine).length,
    noteBegun(lease) {
      const run = runs.get(keyOf(lease));
      if (run) run.hasBegun = true;
    },
    unbegun: () => [...runs.values()].filter(({ hasBegun }) => !hasBegun),
    stop(lease, reason) {
      const run = runs.get(keyOf(lease));
      if (run) abort(run, reason);
    },
    stopAll(reason) {
      for (const run of runs.values()) abort(run, reason);
    },
    close() {
      closed = true;
    },
    isClosed: () => closed,
    async settled() {
      await Promise.allSettled([...runs.values()].map((run) => run.ended));
    },
  };
}

/** The two time limits of a run: its wait for a server, which costs the job nothing, and the work from `begin` on. */
export interface RunClock {
  /** Aborts with `server_busy` after the wait, with a TimeoutError after the work. */
  readonly signal: AbortSignal;
  /** The work begins. Idempotent. */
  begin(): void;
  /** The work goes on: its limit begins again when the progress is not the last one. */
  noteProgress(fraction: number, stage: string): void;
  /** The server that the run waits for, so that the next attempt avoids it. */
  noteServer(url: string): void;
  stop(): void;
}

type ClockJob = Pick<Job, "engine" | "queue" | "sizeClass" | "server" | "externalId">;

/** `pastMs`: what past runs like it took; empty without enough of them. */
export function createRunClock(config: Config, job: ClockJob, pastMs: readonly number[]): RunClock {
  const controller = new AbortController();
  let server = job.externalId === null ? null : job.server;
  const limitMs = Math.max(runLimitMs(config, job), slowness * Math.max(0, ...pastMs));
  let hasBegun = false;
  let last = "";
  let timer = setTimeout(() => {
    const details = server === null ? {} : { server };
    controller.abort(
      new AppError("server_busy", "The server did not begin with the picture in time.", { details }),
    );
  }, config.timing.serverWaitLimitMs);
  const begin = () => {
    if (hasBegun) return;
    hasBegun = true;
    clearTimeout(timer);
    timer = setTimeout(
      () => controller.abort(new DOMException("The run took too long.", "TimeoutError")),
      limitMs,
    );
  };
  // The local engine never waits for a server.
  if (job.engine === "local") begin();
  return {
    signal: controller.signal,
    begin,
    noteProgress(fraction, stage) {
      const now = `${fraction} ${stage}`;
      if (hasBegun && job.engine !== "local" && now !== last) timer.refresh();
      last = now;
    },
    noteServer(url) {
      server = url;
    },
    stop: () => clearTimeout(timer),
  };
}

/** A run may take this many times as long as the longest one before it. */
const slowness = 3;

/**
 * How long the work may go on without progress, in ms; of the local engine, in all. On a server the limit grows with
 * megapixels times steps (the size class is 2 × log2 of them) and is multiplied by `cpuRunFactor` on queues without a
 * graphics card.
 */
function runLimitMs({ timing, queues }: Config, job: Pick<Job, "engine" | "queue" | "sizeClass">): number {
  if (job.engine === "local") return timing.runLimitMs;
  const work = 2 ** (job.sizeClass / 2);
  const isGpu = (queues[job.queue]?.minVramGib ?? 0) > 0;
  const perWorkMs = timing.serverRunPerMegapixelStepMs * (isGpu ? 1 : timing.cpuRunFactor);
  return Math.round(timing.serverRunBaseMs + work * perWorkMs);
}
