import { schema } from "@atelier/server/db";
import type { Need } from "@atelier/server/engines";
import {
  claim,
  complete,
  dispatch,
  isAnyWaiting,
  type Job,
  start,
  submit,
  sweep,
} from "@atelier/server/jobs";
import { readQueues } from "@atelier/server/monitoring";
import { closeDoors, markGone, register } from "@atelier/server/nodes";
import { newId, parseConfig } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { sql } from "drizzle-orm";
import { type Clock, createAgenda } from "./fleet-clock.ts";
import {
  type Arrival,
  type Begun,
  type Fleet,
  type Load,
  loadMsAfter,
  type Outcome,
  workflowsLoadedBy,
  works,
} from "./fleet-load.ts";
import { createRandom } from "./random.ts";
import { insertImage, type Stage } from "./stage.ts";

const queue = "gpu-high";
const needs = works.map(({ workflow }): Need => `comfyui/${workflow}`);
const startS = 150;
export const maxCards = 50;

interface Card {
  readonly id: string;
  readonly url: string;
  readonly orderedMs: number;
  /** The workflow that it ran last. */
  last: string | null;
  isBusy: boolean;
  isEnding: boolean;
  idleFromMs: number;
  endedMs: number | null;
}

interface Hour {
  readonly stage: Stage;
  readonly clock: Clock;
  readonly load: Load;
  readonly fleet: Fleet;
}

/** An hour of studio time, to the end of its last job, by the product's own functions. */
export async function runStudio({ stage, clock, load, fleet }: Hour): Promise<Outcome> {
  await stage.run("truncate jobs, nodes, queue_turns cascade");
  const another = await stage.openAnother();
  const later: Promise<unknown>[] = [];
  let bells = 0;
  const onDemand =
    fleet.type === "fixed" ? {} : { onDemand: { startS, workflows: works.map((w) => w.workflow) } };
  const services: Services = {
    ...another,
    config: parseConfig({
      limits: { openJobs: 100_000, maxWaiting: 100_000 },
      queues: { [queue]: { minVramGib: 8, ...onDemand }, "cpu-light": {} },
    }),
    bells: { ...another.bells, ring: async (name, rung) => void (bells += name === queue ? rung.length : 0) },
    hints: { ...another.hints, publish: () => {} },
    later: (work) => void later.push(work.catch((error: unknown) => faults.push(String(error)))),
  };
  const faults: string[] = [];
  const beginMs = clock.nowMs() + 2 * 86_400_000;
  const at = () => clock.nowMs() - beginMs;
  const random = createRandom(7);
  const agenda = createAgenda();
  const cards: Card[] = [];
  const begun: Begun[] = [];
  const arrivalByJob = new Map<string, Arrival>();
  const open = new Set<string>();
  let submitted = 0;
  let ordered = 0;
  let busyMs = 0;
  const live = () => cards.filter((card) => card.endedMs === null);
  await clock.set(beginMs);
  const owners = load.users.map(() => newId());
  const rows = owners.map((id) => ({ id, name: "bench", email: `${id}@bench.invalid` }));
  await services.db.insert(schema.users).values(rows);
  const images = new Map<number, string>();

  async function join(orderedMs: number): Promise<Card> {
    const name = newId();
    const url = `http://${name}:8188`;
    const identity = { hostname: name, bootId: name, pid: 1, pidStartedAt: "1" };
    const capability = {
      cores: 8,
      memoryBytes: 32 * 1024 ** 3,
      gpus: [],
      kinds: [],
      engines: ["comfyui" as const],
    };
    const queues = [{ queue, slots: 1, needs }];
    const node = await register(services, { name, identity, capability, queues });
    const card: Card = {
      id: node.id,
      url,
      orderedMs,
      last: null,
      isBusy: false,
      isEnding: false,
      idleFromMs: at(),
      endedMs: null,
    };
    cards.push(card);
    await dispatch(services, queue);
    await take(card);
    return card;
  }
  async function leave(card: Card): Promise<void> {
    card.isEnding = true;
    await closeDoors(services, card.id);
    if (card.isBusy) return;
    await markGone(services, card.id);
    card.endedMs = at();
  }
  async function take(card: Card): Promise<boolean> {
    const loaded = loadedNeeds(card);
    const offers = needs.map((need) => ({ need, servers: [card.url], mustLoad: !loaded.includes(need) }));
    const job = await claim(services, { nodeId: card.id, queue, offers });
    if (!job) return false;
    await begin(card, job);
    return true;
  }
  async function begin(card: Card, job: Job): Promise<void> {
    const arrival = arrivalByJob.get(job.id);
    if (!arrival) throw new Error("a job that nobody submitted");
    if (card.endedMs !== null || card.isEnding) faults.push(`${job.id} began on a stopped worker`);
    if (card.isBusy) faults.push(`${job.id} began beside another`);
    if (!open.delete(job.id)) faults.push(`${job.id} began twice`);
    const lease = { jobId: job.id, attempt: job.attempt, nodeId: card.id };
    await start(services, lease);
    const loadMs = loadMsAfter(card.last, arrival.work);
    begun.push({ arrival, atMs: at(), loadMs });
    const takesMs = arrival.runMs + loadMs;
    card.last = arrival.work.workflow;
    card.isBusy = true;
    agenda.add(at() + takesMs, async () => {
      const done = await complete(services, { lease, outputs: [], facts: {} });
      if (!done) faults.push(`${job.id} was not completed`);
      busyMs += takesMs;
      card.isBusy = false;
      card.idleFromMs = at();
      if (card.isEnding) await leave(card);
      else if (!(await take(card)) && fleet.type === "jobs") watch(card, fleet.waitMs);
    });
  }
  /** The product's rule for a worker of `--once --queue`: it ends when for so long nothing waited. */
  function watch(card: Card, waitMs: number): void {
    const fromMs = card.idleFromMs;
    agenda.add(fromMs + waitMs, async () => {
      if (card.isBusy || card.endedMs !== null || card.idleFromMs !== fromMs) return;
      if (await isAnyWaiting(services, { queue, needs, dueWithinMs: waitMs })) card.idleFromMs = at();
      else await leave(card);
      if (card.endedMs === null) watch(card, waitMs);
    });
  }
  async function answerBells(): Promise<void> {
    while (later.length > 0) await Promise.all(later.splice(0));
    for (; bells > 0; bells -= 1) {
      const idle = live().filter((card) => !card.isBusy && !card.isEnding);
      const first = idle.toSorted((a, b) => a.idleFromMs - b.idleFromMs)[0];
      if (first) await take(first);
    }
    while (later.length > 0) await Promise.all(later.splice(0));
  }

  for (const arrival of load.arrivals)
    agenda.add(arrival.atMs, async () => {
      const { kind, workflow } = arrival.work;
      const userId = owners[arrival.user] ?? "";
      const image =
        kind === "text_to_image" ? null : (images.get(arrival.user) ?? (await insertImage(services, userId)));
      if (image) images.set(arrival.user, image);
      const params = kind === "upscale" ? {} : { prompt: "a cup" };
      const request = { kind, workflow, params, ...(image ? { inputs: { image } } : {}) };
      const { id } = await submit(services, request, { submitter: { userId, isGuest: false } });
      arrivalByJob.set(id, arrival);
      open.add(id);
      submitted += 1;
    });
  const isOver = () =>
    submitted === load.arrivals.length && open.size === 0 && cards.every((card) => !card.isBusy);
  const every = (ms: number, run: () => Promise<void>) => {
    const again = async () => {
      await run();
      if (!isOver()) agenda.add(at() + ms, again);
    };
    agenda.add(ms, again);
  };
  every(services.config.timing.sweepMs, () => sweep(services));
  every(10_000, async () => {
    await services.db
      .update(schema.nodes)
      .set({ seenAt: sql`now()`, counter: sql`counter + 1` })
      .where(sql`state in ('active', 'draining')`);
  });
  const order = () => {
    ordered += 1;
    const orderedMs = at();
    const takesMs = startS * 1_000 * (0.8 + 0.4 * random());
    starting += 1;
    agenda.add(orderedMs + takesMs, async () => {
      starting -= 1;
      const card = await join(orderedMs);
      if (fleet.type === "jobs" && !card.isBusy) watch(card, fleet.waitMs);
    });
  };
  let starting = 0;
  const wanted: { readonly atMs: number; readonly n: number }[] = [];
  let lastStopMs = -Infinity;
  const scale = async () => {
    const line = (await readQueues(services)).find((one) => one.queue === queue);
    const jobs = Math.min(maxCards, (line?.waiting ?? 0) + (line?.running ?? 0));
    const there = starting + live().filter(({ isEnding }) => !isEnding).length;
    if (fleet.type === "jobs") {
      const all = starting + live().length;
      for (let n = all; n < jobs; n += 1) order();
      return;
    }
    wanted.push({ atMs: at(), n: jobs });
    const within = (ms: number) => wanted.filter((one) => at() - one.atMs <= ms).map(({ n }) => n);
    const up = Math.min(...within(30_000));
    const down = Math.max(...within(900_000));
    const most = Math.max(there * 2, there + 4);
    for (let n = there; n < Math.min(up, most); n += 1) order();
    if (down < there && at() - lastStopMs >= 60_000) {
      lastStopMs = at();
      const able = live().filter(({ isEnding }) => !isEnding);
      const one = able[Math.floor(random() * able.length)];
      if (one) await leave(one);
    }
  };
  if (fleet.type === "fixed") for (let n = 0; n < fleet.cards; n += 1) await join(0);
  else every(15_000, scale);
  for (let event = agenda.next(); event; event = agenda.next()) {
    await clock.set(beginMs + event.atMs);
    await event.run();
    await answerBells();
  }
  const endMs = at();
  faults.push(...(await readFaults(stage, load.arrivals.length)));
  const cardMs = cards.reduce((sum, card) => sum + (card.endedMs ?? endMs) - card.orderedMs, 0);
  const stops = cards.filter(({ endedMs }) => endedMs !== null).length;
  return { begun, starts: ordered, stops, cardMs, busyMs, faults };
}

const loadedNeeds = ({ last }: Card) =>
  last === null ? [] : workflowsLoadedBy(last).map((workflow): Need => `comfyui/${workflow}`);

/** What the rows say, whatever the simulation saw. */
async function readFaults(stage: Stage, jobs: number): Promise<string[]> {
  const [row] = await stage.query<Record<string, number>>(`
    select (select count(*)::int from jobs where status = 'completed') as completed,
      (select count(*)::int from jobs where attempt <> 1) as again,
      (select count(*)::int from job_events where type = 'started') as started,
      (select count(*)::int from jobs j join nodes n on n.id = j.node_id where j.started_at > n.ended_at) as late`);
  const { completed, again, started, late } = row ?? {};
  const held = completed === jobs && started === jobs && again === 0 && late === 0;
  return held ? [] : [`of ${jobs} jobs: ${JSON.stringify(row)}`];
}
