import pg from "pg";
import { startTestWorker, type TestWorker } from "@atelier/testing/worker";
import { submit } from "@atelier/server/jobs";
import { startZeroWork } from "./studio.ts";
import { quantile, show } from "./start-and-throughput.ts";
import { type Backend, ingestPicture, openStage, type Stage } from "./stage.ts";
import { killStock } from "./stock.ts";

const kills = 6;
const blockMs = 8_000;
const stopMs = 5_000;
/** Longer than the fault, so that a job is under way all the time. */
const runMs = 10_000;
const frozenRounds = 2;

/** From a worker's `kill -9` to its job running on another one, beside stock BullMQ; and requeues without a reason. */
export async function benchRecovery(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const image = await ingestPicture(stage);
  const oursMs: number[] = [];
  const stock: Promise<number>[] = [];
  const workers = { count: 0 };
  let survivor = await startWorker(stage, workers);
  for (let kill = 0; kill < kills; kill += 1) {
    // Stock needs up to a minute; it waits in the background, its kills lie between ours.
    stock.push(killStock(stage).then((recovered) => recovered()));
    const next = await startWorker(stage, workers);
    const { tookMs, rescuer } = await killHolder(stage, { image, workers: [survivor, next] });
    oursMs.push(tookMs);
    survivor = rescuer;
    await stage.query("update jobs set cancel_requested_at = now() where status = 'processing'");
    while ((await stage.query("select 1 from jobs where status = 'processing'")).length > 0) await rest(100);
  }
  await survivor.kill9();
  const frozen = await freeze(stage, image);
  const stockMs = await Promise.all(stock);
  await stage.close();
  const ratio = quantile(stockMs, 0.5) / quantile(oursMs, 0.5);
  return [
    `kill -9 to running elsewhere, ${kills} kills: p50 ${show(quantile(oursMs, 0.5) / 1_000)} s, p95 ${show(quantile(oursMs, 0.95) / 1_000)} s`,
    `stock BullMQ, as many kills: p50 ${show(quantile(stockMs, 0.5) / 1_000)} s, p95 ${show(quantile(stockMs, 0.95) / 1_000)} s; ratio at p50 ${show(ratio, 1)}`,
    `requeued without a reason: ${frozen.blocked.requeued} of ${frozen.blocked.runs} runs whose worker's loop was blocked ${blockMs / 1_000} s, ${frozen.stopped.requeued} of ${frozen.stopped.runs} whose worker was stopped ${stopMs / 1_000} s`,
  ];
}

const rest = (restMs: number) => new Promise((resolve) => setTimeout(resolve, restMs));

function startWorker(stage: Stage, names: { count: number }): Promise<TestWorker> {
  names.count += 1;
  return startTestWorker(stage.services, { name: `bench-${names.count}`, script: { hang: true } });
}

interface Scene {
  readonly image: string;
  readonly workers: readonly TestWorker[];
}

/** Kills the one of two workers that has the job; the other one's line that it has begun is the end. */
async function killHolder(stage: Stage, { image, workers }: Scene) {
  const id = await accept(stage, image);
  const line = new RegExp(`engine-start ${id}`);
  const holder = await Promise.any(workers.map((worker) => worker.waitFor(line).then(() => worker)));
  const rescuer = workers.find((worker) => worker !== holder);
  if (!rescuer) throw new Error("there is no other worker");
  const killedMs = performance.now();
  await holder.kill9();
  await rescuer.waitFor(line);
  return { tookMs: performance.now() - killedMs, rescuer };
}

async function accept({ services, ownerId }: Stage, image: string): Promise<string> {
  const request = { kind: "upscale", inputs: { image } };
  return (await submit(services, request, { submitter: { userId: ownerId, isGuest: false } })).id;
}

/** As many workers as cores are blocked or stopped at once; a job that was claimed twice was requeued. */
async function freeze(stage: Stage, image: string) {
  const blocked = { runs: 0, requeued: 0 };
  const stopped = { runs: 0, requeued: 0 };
  const blockers = await startPair(stage, { name: "blocked", script: { blockMs } });
  for (let round = 0; round < frozenRounds; round += 1)
    add(blocked, await runPair(stage, { image, pair: blockers }));
  for (const worker of blockers) await worker.kill9();
  const sleepers = await startPair(stage, { name: "stopped", script: { runMs } });
  for (let round = 0; round < frozenRounds; round += 1) {
    const during = async () => {
      for (const worker of sleepers) worker.stop();
      await rest(stopMs);
      for (const worker of sleepers) worker.cont();
    };
    add(stopped, await runPair(stage, { image, pair: sleepers, during }));
  }
  for (const worker of sleepers) await worker.kill9();
  return { blocked, stopped };
}

function startPair(
  stage: Stage,
  { name, script }: { name: string; script: { blockMs?: number; runMs?: number } },
) {
  return Promise.all(
    [1, 2].map((number) => startTestWorker(stage.services, { name: `${name}-${number}`, script })),
  );
}

interface Pair {
  readonly image: string;
  readonly pair: readonly TestWorker[];
  /** What is done to the workers once both run. */
  readonly during?: () => Promise<void>;
}

async function runPair(stage: Stage, { image, pair, during }: Pair) {
  const ids = await Promise.all(pair.map(() => accept(stage, image)));
  for (const id of ids)
    await Promise.any(pair.map((worker) => worker.waitFor(new RegExp(`engine-start ${id}`))));
  await during?.();
  const isOpen =
    "select 1 from jobs where id = any($1) and status not in ('completed', 'failed', 'cancelled')";
  while ((await stage.query(isOpen, [ids])).length > 0) await rest(100);
  const requeued = await stage.query("select 1 from jobs where id = any($1) and attempt > 1", [ids]);
  return { runs: ids.length, requeued: requeued.length };
}

function add(total: { runs: number; requeued: number }, more: { runs: number; requeued: number }): void {
  total.runs += more.runs;
  total.requeued += more.requeued;
}

const openJobs = 50;
const windowMs = 30_000;
const warmMs = 5_000;
const firstMinuteMs = 60_000;
/** How long the transaction is open before the window of the eleventh minute. */
const holdMs = 600_000;

export interface IdleHolderOptions {
  /** Whether the database's own limit ends the holder's session; otherwise the session has switched it off. */
  readonly isLimited: boolean;
}

/** F19: jobs per second while a foreign transaction is idle for ten minutes against those before it and after its end. */
export async function benchIdleHolder(backend: Backend, { isLimited }: IdleHolderOptions): Promise<string[]> {
  const stage = await openStage(backend);
  const load = await startLoad(stage);
  await rest(warmMs);
  const before = await load.rate(windowMs);
  const holder = await holdTransaction(stage.databaseUrl, { isLimited });
  const first = await load.rate(firstMinuteMs);
  const following = await load.rate(holdMs - firstMinuteMs);
  const held = await load.rate(windowMs);
  const [dead] = await stage.query<{ dead: string }>(
    "select sum(n_dead_tup)::text as dead from pg_stat_user_tables",
  );
  const heldS = await holder.release();
  await rest(warmMs);
  const after = await load.rate(windowMs);
  await load.close();
  await stage.close();
  const ofHold = (first * firstMinuteMs + following * (holdMs - firstMinuteMs)) / holdMs;
  return [
    `limit ${isLimited ? "in force" : "switched off"}: the transaction was open for ${show(heldS, 0)} s`,
    `before: ${show(before, 0)} jobs/s; first minute: ${show(first, 0)}; ten minutes: ${show(ofHold, 0)}; eleventh minute: ${show(held, 0)}; after: ${show(after, 0)}`,
    `ratio of the ten minutes: ${show(ofHold / before)}, of the eleventh: ${show(held / before)}, after: ${show(after / before)}; dead rows in the eleventh minute: ${dead?.dead ?? "?"}`,
  ];
}

interface Holder {
  /** Ends the transaction unless the database has; for how many seconds it was open. */
  release(): Promise<number>;
}

/** A session that reads once and then keeps its transaction open, as a forgotten console does: nothing can be vacuumed. */
async function holdTransaction(url: string, { isLimited }: IdleHolderOptions): Promise<Holder> {
  const client = new pg.Client({ connectionString: url });
  let endedAtMs: number | null = null;
  client.on("error", () => (endedAtMs ??= performance.now()));
  await client.connect();
  if (!isLimited) await client.query("set idle_in_transaction_session_timeout = 0");
  await client.query("begin isolation level repeatable read");
  await client.query("select count(*) from jobs");
  const beganMs = performance.now();
  return {
    async release() {
      if (endedAtMs === null) {
        await client.query("rollback");
        await client.end();
      }
      return ((endedAtMs ?? performance.now()) - beganMs) / 1_000;
    },
  };
}

/** Jobs without work, always as many open, until it is closed. */
async function startLoad(stage: Stage) {
  let endedCount = 0;
  const product = await startZeroWork(stage, {
    slots: 10,
    onCompleted: () => {
      endedCount += 1;
      loop.ended();
    },
  });
  const loop = keepOpen(() => product.accept());
  return {
    /** Jobs per second of the next `forMs`. */
    async rate(forMs: number): Promise<number> {
      const [beganMs, countBefore] = [performance.now(), endedCount];
      await rest(forMs);
      return ((endedCount - countBefore) * 1_000) / (performance.now() - beganMs);
    },
    async close() {
      await loop.stop();
      await product.close();
    },
  };
}

/** Accepts a first set of jobs, and another one for each that has ended. */
function keepOpen(accept: () => Promise<unknown>) {
  const accepting = new Set<Promise<unknown>>();
  let isOpen = true;
  const ended = () => {
    if (!isOpen) return;
    const accepted = accept().finally(() => accepting.delete(accepted));
    accepting.add(accepted);
  };
  for (let count = 0; count < openJobs; count += 1) ended();
  return {
    ended,
    async stop() {
      isOpen = false;
      await Promise.all(accepting);
    },
  };
}
