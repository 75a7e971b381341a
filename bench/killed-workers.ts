import { createEndpoint } from "@atelier/server/deliveries";
import { submit } from "@atelier/server/jobs";
import { loadConfig } from "@atelier/server/platform";
import type { ProviderName } from "@atelier/server/providers";
import { startWebhookReceiver, type WebhookReceiver } from "@atelier/testing/deliveries";
import { addOwner, findBrokenInvariants, type TestOwner } from "@atelier/testing/jobs";
import { startTestPostgres } from "@atelier/testing/postgres";
import { type Providers, startProviders, startWebhookDoor } from "@atelier/testing/providers";
import { createTestServices } from "@atelier/testing/services";
import { startTestWorker, type TestWorker } from "@atelier/testing/worker";
import type { Services } from "@atelier/server/services";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "./random.ts";
import type { Backend } from "./stage.ts";

const jobsPerKill = 3;
const workerCount = 4;
/** Fewer are never left, so that a slow machine has no time without workers: three deaths under one job end it. */
const fewest = 2;
/** Between two kills. */
const pauseMs = { min: 200, max: 1_200 };
/** How long a worker at the wanted stage is looked for. */
const aimMs = 1_500;
const settleMs = 300_000;

/** A model for each way in which a lost call is found: list and webhook, webhook, idempotency key, not at all. */
const models = ["flux-2-pro", "z-image-turbo", "soul", "nano-banana"] as const;
const names = ["replicate", "fal", "higgsfield", "google"] as const satisfies readonly ProviderName[];

export interface KilledWorkersInput {
  readonly backend: Backend;
  readonly seed: number;
  readonly kills: number;
}

/** R1: jobs through simulated providers while workers are killed at random moments; the simulators' meters are the oracle. */
export async function benchKilledWorkers({ backend, seed, kills }: KilledWorkersInput): Promise<string[]> {
  const bench = await open(backend, jobsPerKill * kills);
  const { services, owner } = bench;
  const random = createRandom(seed);
  const crew = await startCrew(services);
  const hits = new Map<string, number>();
  const prompts = new Map<string, string>();
  for (let kill = 0; kill < kills; kill += 1) {
    await sleep(pauseMs.min + random() * (pauseMs.max - pauseMs.min));
    const killed = crew.kill(random(), stages[kill % (stages.length + 1)]);
    for (let count = 0; count < jobsPerKill; count += 1) {
      const prompt = `picture ${prompts.size + 1}.`;
      const model = models[Math.floor(random() * models.length)];
      const request = { kind: "text_to_image", model, params: { prompt } };
      prompts.set((await submit(services, request, { submitter: owner })).id, prompt);
    }
    const hit = await killed;
    hits.set(hit, (hits.get(hit) ?? 0) + 1);
  }
  await settle(services);
  await crew.end();
  const lines = [`seed ${seed}, ${kills} kills: ${list(hits)}`, ...(await judge(bench, prompts))];
  await bench.close();
  return lines;
}

interface Bench {
  readonly services: Services;
  readonly owner: TestOwner;
  readonly providers: Providers;
  readonly receiver: WebhookReceiver;
  close(): Promise<void>;
}

async function open(backend: Backend, jobCount: number): Promise<Bench> {
  const postgres = await startTestPostgres();
  const [providers, door, receiver] = await Promise.all([
    startProviders(names),
    startWebhookDoor(),
    startWebhookReceiver(),
  ]);
  receiver.delayMs = 200;
  for (const name of names) Object.assign(providers.simulators[name], { runMs: 500, delayMs: 400 });
  // These are asked for the end, the others tell it.
  for (const name of ["replicate", "higgsfield"] as const) providers.simulators[name].webhooks = 0;
  const wide = await loadConfig(new URL("../testing/config/wide-cloud.config.ts", import.meta.url).pathname);
  const env = { ...providers.env, APP_URL: door.url, ALLOWED_PRIVATE_HOSTS: "127.0.0.1" };
  const config = { cloud: wide.cloud, limits: { openJobs: jobCount, maxWaiting: jobCount } };
  const opened = await createTestServices({ backend, env, config });
  const { services } = opened;
  door.open(services);
  const owner = await addOwner(services);
  await createEndpoint(services, { ownerId: owner.userId, url: `${receiver.url}/hook` });
  return {
    services,
    owner,
    providers,
    receiver,
    async close() {
      await opened.close();
      await Promise.all([providers.close(), door.close(), receiver.close()]);
      await postgres.stop();
    },
  };
}

/** Workers of which each is started again when it was killed, as a supervisor does. */
interface Crew {
  /**
   * Kills a worker at this stage; without a stage, or when none is seen there in time, the one at this place of 0..1 among
   * the living. Says what it was at.
   */
  kill(place: number, stage?: Stage): Promise<Stage | "idle or delivering">;
  end(): Promise<void>;
}

async function startCrew(services: Services): Promise<Crew> {
  const living = new Map<string, TestWorker>();
  const starting = new Set<Promise<void>>();
  const start = (name: string) => {
    const started = startTestWorker(services, { config: "wideCloud", name }).then((worker) => {
      living.set(name, worker);
      starting.delete(started);
    });
    starting.add(started);
  };
  for (let number = 1; number <= workerCount; number += 1) start(`worker-${number}`);
  await Promise.all(starting);
  return {
    async kill(place, stage) {
      while (living.size <= fewest) await Promise.race(starting);
      const endMs = performance.now() + (stage === undefined ? 0 : aimMs);
      let work = await readWork(services);
      const isAt = ([name]: [string, TestWorker]) => stage !== undefined && work.get(name) === stage;
      while (![...living].some(isAt) && performance.now() < endMs) work = await readWork(services);
      const aimed = [...living].find(isAt);
      const [name, worker] = aimed ?? [...living][Math.floor(place * living.size)] ?? [];
      if (name === undefined || !worker) throw new Error("no worker lives");
      living.delete(name);
      await worker.kill9();
      start(name);
      return work.get(name) ?? "idle or delivering";
    },
    async end() {
      await Promise.all(starting);
      for (const worker of living.values()) await worker.kill9();
    },
  };
}

const stages = ["before a call", "during a call", "while it asked", "while it took a result"] as const;
type Stage = (typeof stages)[number];

/** What each worker with work is at, by the rows, a moment before one is killed. */
async function readWork({ db }: Services): Promise<ReadonlyMap<string, Stage>> {
  const rows = await db.execute<{ name: string; work: Stage }>(`
    select distinct on (name) name, work from nodes join (
      select node_id, 'before a call' as work, 1 as rank from jobs
        where provider_attempt_id is null and status in ('waiting_for_engine', 'processing')
      union all select node_id, 'during a call', 2 from provider_attempts where state = 'submitting'
      union all select a.node_id, case when j.stage = 'fetching' then 'while it took a result' else 'while it asked' end, 3
        from provider_attempts a join jobs j on j.id = a.job_id where a.finish_token is not null
    ) own on own.node_id = nodes.id
    where state in ('active', 'draining') order by name, rank`);
  return new Map(rows.map(({ name, work }) => [name, work]));
}

async function settle({ db }: Services): Promise<void> {
  const endMs = performance.now() + settleMs;
  const isOpen = `select exists (select 1 from jobs where status not in ('completed', 'failed', 'cancelled'))
    or exists (select 1 from deliveries where delivered_at is null and failed_at is null) as open`;
  while ((await db.execute<{ open: boolean }>(isOpen))[0]?.open && performance.now() < endMs)
    await sleep(500);
}

async function judge(bench: Bench, prompts: ReadonlyMap<string, string>): Promise<string[]> {
  const { services, providers, receiver } = bench;
  const charged = new Map<string, number>();
  for (const run of Object.values(providers.simulators).flatMap((simulator) => simulator.charged())) {
    const prompt = /picture \d+\./.exec(JSON.stringify(run.input))?.[0] ?? "";
    charged.set(prompt, (charged.get(prompt) ?? 0) + 1);
  }
  const paidFor = (id: string) => charged.get(prompts.get(id) ?? "") ?? 0;
  const jobs = await services.db.execute<{ id: string; end: string; server: string }>(
    `select id, coalesce(error_code, status) as end, server from jobs`,
  );
  const ends = Map.groupBy(jobs, ({ end }) => end);
  const unknown = ends.get("provider_unknown") ?? [];
  const isLost = ({ id, end }: { id: string; end: string }) =>
    end === "completed"
      ? paidFor(id) === 0
      : !documented.includes(end) || (end === "worker_lost" && paidFor(id) > 0);
  const faults = await findBrokenInvariants(services);
  const told = await judgeDeliveries(services, receiver);
  return [
    `${jobs.length} jobs: ${list(new Map([...ends].map(([end, all]) => [end, all.length])))}`,
    `paid twice ${[...prompts.keys()].filter((id) => paidFor(id) > 1).length}, lost ${jobs.filter(isLost).length}, broken rows or files ${faults.length}`,
    `of the unknown, paid ${unknown.filter(({ id }) => paidFor(id) > 0).length}; by provider: ${list(countBy(unknown))}`,
    ...told,
    ...faults.slice(0, 5),
  ];
}

/** Failures after a worker's death: nobody can know what became of the call; three workers died before the call. */
const documented = ["provider_unknown", "worker_lost"];

/**
 * A message that came again although it was recorded as delivered, or for which there were two rows, is a fault. One whose
 * sender died between the send and the record must come again (at least once).
 */
async function judgeDeliveries({ db }: Services, { received }: WebhookReceiver): Promise<string[]> {
  const rows = await db.execute<{
    id: string;
    job: string;
    deliveredMs: number | null;
    attempts: number;
  }>(`
    select id, job_id as job, attempts, (extract(epoch from delivered_at) * 1000)::float8 as "deliveredMs" from deliveries`);
  const byId = Map.groupBy(received, ({ id }) => id);
  const perJob = Map.groupBy(rows, ({ job }) => job);
  const twice = rows.filter(({ id, deliveredMs, attempts }) => {
    const came = byId.get(id) ?? [];
    const isLate = came.some(({ at }) => deliveredMs !== null && at.getTime() > deliveredMs + 1);
    return came.length > attempts || isLate;
  });
  const doubled = [...perJob.values()].filter(({ length }) => length > 1);
  const again = rows.filter(({ id }) => (byId.get(id)?.length ?? 0) > 1);
  const missing = rows.filter(({ deliveredMs }) => deliveredMs === null);
  return [
    `delivered twice ${twice.length + doubled.length}, not delivered ${missing.length} of ${rows.length}; sent again since the sender died before the record: ${again.length - twice.length}`,
  ];
}

function countBy(jobs: readonly { readonly server: string }[]): Map<string, number> {
  const groups = Map.groupBy(jobs, ({ server }) => server);
  return new Map([...groups].map(([server, all]) => [server, all.length]));
}

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}
