import { tracingChannel } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import { claim, complete, start, submit } from "@atelier/server/jobs";
import { ownIdentity, register } from "@atelier/server/nodes";
import { newId } from "@atelier/server/platform";
import { type Backend, insertImage, openStage, type Stage } from "./stage.ts";
import { quantile, show } from "./start-and-throughput.ts";
import { lightQueue } from "./studio.ts";

/** A statement as it was sent, and how long its answer took. */
interface SentStatement {
  readonly text: string;
  readonly ms: number;
}

const quietMs = 15;

/** How the driver publishes its statements. */
const sentStatements = tracingChannel<unknown, Pick<SentStatement, "text">>("atelier:statement");

/**
 * Runs `work` and gives back the statements that this process sent meanwhile, in the order of their sending, those of
 * what `work` left running included: it waits until nothing was under way for a moment.
 */
export async function recordStatements(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent = new Map<object, { text: string; beganMs: number; ms: number | null }>();
  const note = (statement: object) => {
    const entry = sent.get(statement);
    if (entry) entry.ms = performance.now() - entry.beganMs;
  };
  const subscriber = {
    start: (statement: { text: string }) =>
      void sent.set(statement, { text: statement.text, beganMs: performance.now(), ms: null }),
    end: () => undefined,
    asyncStart: () => undefined,
    asyncEnd: note,
    error: () => undefined,
  };
  sentStatements.subscribe(subscriber);
  try {
    await work();
    let known = -1;
    while (sent.size !== known || [...sent.values()].some(({ ms }) => ms === null)) {
      known = sent.size;
      await sleep(quietMs);
    }
  } finally {
    sentStatements.unsubscribe(subscriber);
  }
  return [...sent.values()].map(({ text, ms }) => ({ text, ms: ms ?? 0 }));
}

const jobs = 40;
const shownChars = 110;

/** P2: the statements of each step of one job's way, one job after the other, with the middle time of each. */
export async function benchStatements(backend: Backend): Promise<string[]> {
  const stage = await openStage(backend);
  const steps = await openSteps(stage);
  const sentByStep = new Map<string, SentStatement[][]>();
  for (let job = 0; job < jobs; job += 1) {
    for (const [name, step] of steps)
      sentByStep.set(name, [...(sentByStep.get(name) ?? []), await recordStatements(step)]);
  }
  await stage.close();
  const lines = [...sentByStep].flatMap(([name, rounds]) => describe(name, rounds.slice(jobs / 4)));
  const total = [...sentByStep.values()].reduce((sum, rounds) => sum + (rounds.at(-1)?.length ?? 0), 0);
  return [...lines, `one job, submit to completed: ${total} statements`];
}

/** What P2's light node does, but nothing runs at the same time: the dispatch of a submit is a step of its own. */
async function openSteps(stage: Stage): Promise<(readonly [string, () => Promise<unknown>])[]> {
  const { services, ownerId } = stage;
  const image = await insertImage(services, ownerId);
  const needs = ["local/upscale"] as const;
  const node = await register(services, {
    name: "bench",
    identity: ownIdentity(),
    capability: { cores: 2, memoryBytes: 4 * 1024 ** 3, gpus: [], kinds: ["upscale"], engines: ["local"] },
    queues: [{ queue: lightQueue, slots: 10, needs: [...needs] }],
  });
  const offers = needs.map((need) => ({ need, servers: null }));
  let lease = { jobId: newId(), attempt: 0, nodeId: node.id };
  const submitter = { userId: ownerId, isGuest: false };
  return [
    [
      "submit, with the dispatch that it starts",
      () => submit(services, { kind: "upscale", inputs: { image } }, { submitter }),
    ],
    [
      "claim, with the dispatch that it starts",
      async () => {
        const job = await claim(services, { nodeId: node.id, queue: lightQueue, offers });
        if (!job) throw new Error("nothing to claim");
        lease = { ...lease, jobId: job.id, attempt: job.attempt };
      },
    ],
    ["start", () => start(services, lease)],
    [
      "complete, with the dispatch that it starts",
      () => complete(services, { lease, outputs: [], facts: {} }),
    ],
  ];
}

function describe(name: string, rounds: readonly (readonly SentStatement[])[]): string[] {
  const counts = rounds.map((sent) => sent.length);
  const total = rounds.map((sent) => sent.reduce((sum, { ms }) => sum + ms, 0));
  const last = rounds.at(-1) ?? [];
  return [
    `${name}: ${show(quantile(counts, 0.5), 0)} statements, ${show(quantile(total, 0.5), 1)} ms`,
    ...last.map(({ text }, place) => {
      const times = rounds.flatMap((sent) => (sent[place] ? [sent[place].ms] : []));
      return `  ${show(quantile(times, 0.5), 2)} ms  ${text.replaceAll(/\s+/g, " ").trim().slice(0, shownChars)}`;
    }),
  ];
}
