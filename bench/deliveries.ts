import { createEndpoint } from "@atelier/server/deliveries";
import { startWebhookReceiver, type WebhookReceiver } from "@atelier/testing/deliveries";
import { startTestWorker } from "@atelier/testing/worker";
import { quantile, show } from "./start-and-throughput.ts";
import { addOwner, openStage, type Stage } from "./stage.ts";

const perRound = 2_000;
const rounds = 3;
/** As many as a worker sends at once. */
const sendsAtOnce = 30;
const limitMs = 240_000;

interface Crowd {
  readonly owners: number;
  /** The first receiver never answers. */
  readonly isFirstDead: boolean;
}

const crowds: Readonly<Record<string, Crowd>> = {
  "20 owners with one receiver each": { owners: 20, isFirstDead: false },
  "one owner with one receiver": { owners: 1, isFirstDead: false },
  "20 owners, one receiver never answers": { owners: 20, isFirstDead: true },
};

/** Webhooks of one worker per second, beside bare requests of a client to the same receiver. */
export async function benchDeliveries(): Promise<string[]> {
  const stage = await openStage("postgres");
  const lines: string[] = [];
  for (const [name, crowd] of Object.entries(crowds)) {
    const rates: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await measureBare());
      rates.push(await measure(stage, crowd));
    }
    lines.push(
      `${name}: ${show(quantile(rates, 0.5), 0)} deliveries/s (${show(Math.min(...rates), 0)} to ${show(Math.max(...rates), 0)}); bare requests ${show(quantile(bare, 0.5), 0)}/s`,
    );
  }
  await stage.close();
  return lines;
}

/** Deliveries that were owed before the worker started, from the first that arrives to the last. */
async function measure(stage: Stage, { owners, isFirstDead }: Crowd): Promise<number> {
  const receiver = await startWebhookReceiver();
  if (isFirstDead) receiver.inject("/hook-0", [{ kind: "hang" }], { isForever: true });
  await stage.run("truncate jobs, deliveries, webhook_endpoints cascade");
  const count = Math.floor(perRound / owners);
  for (let owner = 0; owner < owners; owner += 1)
    await oweMany(stage, `${receiver.url}/hook-${owner}`, count);
  const worker = await startTestWorker(stage.services, { env: { ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
  const dead = isFirstDead ? count : 0;
  const arrivals = () => receiver.received.filter(({ path }) => !isFirstDead || path !== "/hook-0");
  await untilAll(receiver, count * owners - dead, arrivals);
  await worker.kill9();
  const times = arrivals().map(({ at }) => at.getTime());
  await receiver.close();
  return ((times.length - 1) * 1_000) / (Math.max(...times) - Math.min(...times));
}

async function untilAll(
  { url }: WebhookReceiver,
  wanted: number,
  arrivals: () => readonly unknown[],
): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (arrivals().length < wanted) {
    if (performance.now() > endMs) throw new Error(`only ${arrivals().length} of ${wanted} came to ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Ended jobs of a new owner, and a delivery for each. */
async function oweMany(stage: Stage, url: string, count: number): Promise<void> {
  const { services } = stage;
  const ownerId = await addOwner(services);
  const env = { ...services.env, ALLOWED_PRIVATE_HOSTS: ["127.0.0.1"] };
  const { id } = await createEndpoint({ ...services, env }, { ownerId, url });
  await stage.query(
    `with ended as (
      insert into jobs (id, owner_id, kind, status, tier, params, queue, engine, need, ended_at)
      select gen_random_uuid(), $1, 'upscale', 'completed', 1, '{}', 'cpu-light', 'local', 'local/upscale', now()
      from generate_series(1, $3::int) returning id)
    insert into deliveries (id, job_id, owner_id, channel, target, event)
      select gen_random_uuid(), id, $1, 'webhook', $2, 'job.completed' from ended`,
    [ownerId, id, count],
  );
}

/** A client that sends a body of the same size, as many at once, and keeps nothing. */
async function measureBare(): Promise<number> {
  const receiver = await startWebhookReceiver();
  let left = perRound;
  const body = JSON.stringify({ type: "job.completed", data: "x".repeat(600) });
  const send = async () => {
    while ((left -= 1) >= 0) await fetch(receiver.url, { method: "POST", body });
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: sendsAtOnce }, send));
  const tookMs = performance.now() - startMs;
  await receiver.close();
  return (perRound * 1_000) / tookMs;
}
