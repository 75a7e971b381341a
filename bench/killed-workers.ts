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

const jobCount = 1_000;
const kills = 200;
const workerCount = 4;
/** Fewer are never left, so that a slow machine has no time without workers: three deaths under one job end it. */
const fewest = 2;
/** Between two kills. */
const pauseMs = { min: 300, max: 1_900 };
const settleMs = 300_000;

/** A model for each way in which a lost call is found: list and webhook, webhook, idempotency key, not at all. */
const models = ["flux-2-pro", "z-image-turbo", "soul", "nano-banana"] as const;
const names = ["replicate", "fal", "higgsfield", "google"] as const satisfies readonly ProviderName[];

export interface KilledWorkersInput {
  readonly backend: Backend;
  readonly seed: number;
}

/** R1: jobs through simulated providers while workers are killed at random moments; the simulators' meters are the oracle. */
export async function benchKilledWorkers({ backend, seed }: KilledWorkersInput): Promise<string[]> {
  const bench = await open(backend);
  const { services, owner } = bench;
  const random = createRandom(seed);
  const crew = await startCrew(services);
  const hits = new Map<string, number>();
  const prompts = new Map<string, string>();
  for (let kill = 0; kill < kills; kill += 1) {
    for (let count = 0; count < jobCount / kills; count += 1) {
      const prompt = `picture ${prompts.size + 1}.`;
      const model = models[Math.floor(random() * models.length)];
      const request = { kind: "text_to_image", model, params: { prompt } };
      prompts.set((await submit(services, request, { submitter: owner })).id, prompt);
    }
    await sleep(pauseMs.min + random() * (pauseMs.max - pauseMs.min));
    const hit = await crew.kill(random());
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

async function open(backend: Backend): Promise<Bench> {
  const postgres = await startTestPostgres();
  const [providers, door, receiver] = await Promise.all([
    startProviders(names),
    startWebhookDoor(),
    startWebhookReceiver(),
  ]);
  receiver.delayMs = 200;
  for (const name of names) Object.assign(providers.simulators[name], { runMs: 500, delayMs: 400 });
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
  /** Kills the worker at this place of 0..1 among the living, and says what it was at. */
  kill(place: number): Promise<string>;
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
    async kill(place) {
      while (living.size <= fewest) await Promise.race(starting);
      const [name, worker] = [...living][Math.floor(place * living.size)] ?? [];
      if (name === undefined || !worker) throw new Error("no worker lives");
      living.delete(name);
      const hit = await readWork(services, name);
      await worker.kill9();
      start(name);
      return hit;
    },
    async end() {
      await Promise.all(starting);
      for (const worker of living.values()) await worker.kill9();
    },
  };
}

/** What a worker is at, by the rows, a moment before it is killed. */
async function readWork({ db }: Services, name: string): Promise<string> {
  const [row] = await db.execute<{ work: string | null }>(`
    with own as (select id from nodes where name = '${name}' and state in ('active', 'draining'))
    select coalesce(
      (select 'during a call' from provider_attempts where state = 'submitting' and node_id in (select id from own) limit 1),
      (select case when exists (select 1 from provider_attempts a join jobs j on j.id = a.job_id
          where a.node_id in (select id from own) and j.stage = 'fetching') then 'while it took a result' else 'while it asked' end
        from provider_attempts where finish_token is not null and node_id in (select id from own) limit 1),
      (select 'before a call' from jobs where node_id in (select id from own) and provider_attempt_id is null
        and status in ('waiting_for_engine', 'processing') limit 1)) as work`);
  return row?.work ?? "idle or delivering";
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
