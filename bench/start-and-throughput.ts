import { Redis } from "ioredis";
import { newId } from "@atelier/server/platform";
import { countStatements } from "@atelier/testing/postgres";
import { type Backend, createSignals, openStage, type Stage } from "./stage.ts";
import { startNaive } from "./stock.ts";
import { startZeroWork } from "./studio.ts";

/** One job as a node saw it; times of one clock, in ms. */
export interface LoopJob {
  readonly node: number;
  /** Accepted to started. */
  readonly waitMs: number;
  readonly endedAtMs: number;
}

export interface Loop {
  /** To be called with each job that has ended; puts the next one into the line. */
  ended(job: LoopJob): void;
  /** Fills the line, lets the loop run for its time and gives back the jobs that ended after the warm-up. */
  run(): Promise<LoopJob[]>;
}

export interface LoopInput {
  /** Jobs that are open at any moment. */
  readonly open: number;
  readonly warmMs: number;
  readonly windowMs: number;
  readonly accept: () => Promise<unknown>;
}

/** A constant number of open jobs: each ended job is replaced by a new one, so the line neither empties nor grows. */
export function createLoop({ open, warmMs, windowMs, accept }: LoopInput): Loop {
  const jobs: LoopJob[] = [];
  const accepting = new Set<Promise<unknown>>();
  let isOpen = true;
  const acceptNext = () => {
    const accepted = accept().finally(() => accepting.delete(accepted));
    accepting.add(accepted);
  };
  return {
    ended(job) {
      jobs.push(job);
      if (isOpen) acceptNext();
    },
    async run() {
      for (let count = 0; count < open; count += 1) acceptNext();
      await Promise.all(accepting);
      const beganMs = performance.now();
      await new Promise((resolve) => setTimeout(resolve, warmMs + windowMs));
      isOpen = false;
      await Promise.all(accepting);
      const fromMs = beganMs + warmMs;
      return jobs.filter(({ endedAtMs }) => endedAtMs >= fromMs && endedAtMs <= fromMs + windowMs);
    },
  };
}

/** Jobs per second: of each node from its first end to its last, so that the edges of the window do not count. */
export function rateOf(jobs: readonly LoopJob[]): number {
  const rates = [...Map.groupBy(jobs, ({ node }) => node).values()].map((own) => {
    const ends = own.map(({ endedAtMs }) => endedAtMs);
    return own.length > 1 ? ((own.length - 1) * 1_000) / (Math.max(...ends) - Math.min(...ends)) : 0;
  });
  return rates.reduce((sum, rate) => sum + rate, 0);
}

interface Calls {
  readonly sql: number;
  readonly redis: number;
}

/** Counts SQL statements and Redis commands that this process sends while `work` runs; both are one round trip each. */
async function countCalls(work: () => Promise<void>): Promise<Calls> {
  let redis = 0;
  const send: unknown = Reflect.get(Redis.prototype, "sendCommand");
  if (typeof send !== "function") throw new Error("the client has changed");
  Reflect.set(Redis.prototype, "sendCommand", function counted(this: Redis, ...args: unknown[]): unknown {
    redis += 1;
    return Reflect.apply(send, this, args);
  });
  try {
    const sql = await countStatements(work);
    return { sql, redis };
  } finally {
    Reflect.set(Redis.prototype, "sendCommand", send);
  }
}

/** Quantile of unsorted values, by linear interpolation; `share` 0..1. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

export interface Ratio {
  readonly median: number;
  readonly lowerQuartile: number;
  readonly upperQuartile: number;
}

/** Ratios of one round each; the machine's noise hits both sides of a round alike. */
export function summarise(ratios: readonly number[]): Ratio {
  return {
    median: quantile(ratios, 0.5),
    lowerQuartile: quantile(ratios, 0.25),
    upperQuartile: quantile(ratios, 0.75),
  };
}

/** Runs two sides in turn; the first round warms up and is dropped. */
export async function interleave<T>(
  rounds: number,
  sides: { readonly ours: () => Promise<T>; readonly reference: () => Promise<T> },
): Promise<{ ours: T; reference: T }[]> {
  const results: { ours: T; reference: T }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    // The order changes each round, so that neither side always meets the other's leftovers.
    const pair =
      round % 2 === 0
        ? { ours: await sides.ours(), reference: await sides.reference() }
        : await sides.reference().then(async (reference) => ({ ours: await sides.ours(), reference }));
    if (round > 0) results.push(pair);
  }
  return results;
}

export function show(value: number, digits = 2): string {
  return value.toFixed(digits);
}

export function showRatio({ median, lowerQuartile, upperQuartile }: Ratio): string {
  return `${show(median)} (quartiles ${show(lowerQuartile)} to ${show(upperQuartile)})`;
}

/** Number of transactions of the server that wrote something. */
async function readTransactions(stage: Stage): Promise<number> {
  const [row] = await stage.query<{ next: string }>(
    "select pg_snapshot_xmax(pg_current_snapshot())::text as next",
  );
  return Number(row?.next);
}

const throughputRounds = 3;
const jobs = 1_000;
const slots = 10;
const submitters = 10;

interface Throughput {
  /** To be called with each job that has ended. */
  readonly note: () => void;
  /** Accepts so many jobs, ten at a time, until all have ended; jobs per second. */
  readonly run: (jobCount: number, accept: () => Promise<unknown>) => Promise<number>;
}

export function createThroughput(): Throughput {
  let left = 0;
  let done = () => {};
  return {
    note() {
      left -= 1;
      if (left === 0) done();
    },
    async run(jobCount, accept) {
      const finished = new Promise<void>((resolve) => {
        done = resolve;
      });
      left = jobCount;
      const beganMs = performance.now();
      let toSubmit = jobCount;
      await Promise.all(
        Array.from({ length: submitters }, async () => {
          while (toSubmit > 0) {
            toSubmit -= 1;
            await accept();
          }
        }),
      );
      await finished;
      return jobCount / ((performance.now() - beganMs) / 1_000);
    },
  };
}

/** P2: accept to completed of 1,000 jobs without work against raw BullMQ add and process; statements per job counted. */
export async function benchThroughput(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const { note, run } = createThroughput();
  const product = await startZeroWork(stage, { slots, onCompleted: note });
  const naive = await startNaive(stage, { slots, onJob: () => {}, onCompleted: note });
  const ours = () => run(jobs, () => product.accept());
  const results = await interleave(throughputRounds, {
    ours,
    reference: () => run(jobs, () => naive.add(newId())),
  });
  const before = await readTransactions(stage);
  const calls = await countCalls(async () => {
    await ours();
  });
  const commits = (await readTransactions(stage)) - before;
  await naive.close();
  await product.close();
  await stage.close();
  const rate = summarise(results.map((round) => round.ours));
  const reference = summarise(results.map((round) => round.reference));
  return [
    `${jobs} jobs, accept to completed: ${show(rate.median, 0)} jobs/s; raw BullMQ add + process: ${show(reference.median, 0)} jobs/s`,
    `ratio: ${showRatio(summarise(results.map((round) => round.ours / round.reference)))}`,
    `per job: ${show(calls.sql / jobs, 1)} SQL statements, ${show(commits / jobs, 1)} commits, ${show(calls.redis / jobs, 1)} Redis commands`,
  ];
}

const startRounds = 9;
const jobsPerRound = 30;

interface Times {
  /** Submit called to accepted, ms. */
  readonly acceptMs: number[];
  /** Submit called to the worker holding the job, ms. */
  readonly startedMs: number[];
}

/** P1: durable accept to started against a bare INSERT and `queue.add`, one job after the other, in interleaved rounds. */
export async function benchAcceptToStarted(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const [started, ended] = [createSignals(), createSignals()];
  const product = await startZeroWork(stage, { slots: 1, onStarted: started.note, onCompleted: ended.note });
  const naive = await startNaive(stage, { slots: 1, onJob: started.note, onCompleted: ended.note });
  const run = async (accept: () => Promise<string>): Promise<Times> => {
    const times: Times = { acceptMs: [], startedMs: [] };
    for (let count = 0; count < jobsPerRound; count += 1) {
      const beganMs = performance.now();
      const id = await accept();
      times.acceptMs.push(performance.now() - beganMs);
      times.startedMs.push((await started.when(id)) - beganMs);
      await ended.when(id);
    }
    return times;
  };
  const results = await interleave(startRounds, {
    ours: () => run(() => product.accept()),
    reference: () =>
      run(async () => {
        const id = newId();
        await naive.accept(id);
        return id;
      }),
  });
  await naive.close();
  await product.close();
  await stage.close();
  const ratio = (of: keyof Times, share: number) =>
    showRatio(
      summarise(
        results.map(({ ours, reference }) => quantile(ours[of], share) / quantile(reference[of], share)),
      ),
    );
  const shown = (side: "ours" | "reference", of: keyof Times) => {
    const times = results.flatMap((round) => round[side][of]);
    return `p50 ${show(quantile(times, 0.5), 1)} ms, p95 ${show(quantile(times, 0.95), 1)} ms`;
  };
  return [
    `accept to started, ratio to INSERT + queue.add at p50: ${ratio("startedMs", 0.5)}, at p95: ${ratio("startedMs", 0.95)}`,
    `ours ${shown("ours", "startedMs")}; reference ${shown("reference", "startedMs")}`,
    `accept alone, ratio at p50: ${ratio("acceptMs", 0.5)}, at p95: ${ratio("acceptMs", 0.95)}`,
    `ours ${shown("ours", "acceptMs")}; reference ${shown("reference", "acceptMs")}`,
  ];
}
