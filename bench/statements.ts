import { tracingChannel } from "node:diagnostics_channel";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { claim, complete, start, submit } from "@atelier/server/jobs";
import { ownIdentity, register } from "@atelier/server/nodes";
import { newId } from "@atelier/server/platform";
import { type Backend, insertImage, openStage, type Stage } from "./stage.ts";
import { quantile, show } from "./start-and-throughput.ts";
import { lightQueue } from "./studio.ts";

/** A statement as it was sent, and how long its answer took. */
interface SentStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly ms: number;
}

type Recorded = Omit<SentStatement, "ms"> & { ms: number | null };

const quietMs = 15;

/**
 * Runs `work` and gives back the statements that this process sent meanwhile, in the order of their sending, those of
 * what `work` left running included: it waits until nothing was under way for a moment.
 */
export async function recordStatements(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: Recorded[] = [];
  const stopRecording = recordProduct(sent);
  const query: unknown = Reflect.get(pg.Client.prototype, "query");
  if (typeof query !== "function") throw new Error("the client has changed");
  Reflect.set(pg.Client.prototype, "query", function timed(this: pg.Client, ...args: unknown[]): unknown {
    const beganMs = performance.now();
    const statement = { ...partsOf(args), ms: null as number | null };
    sent.push(statement);
    const note = () => void (statement.ms = performance.now() - beganMs);
    const answer: unknown = Reflect.apply(
      query,
      this,
      args.map((arg) => noting(arg, note)),
    );
    if (answer instanceof Promise) answer.then(note, note);
    return answer;
  });
  try {
    await work();
    let known = -1;
    while (sent.length !== known || sent.some(({ ms }) => ms === null)) {
      known = sent.length;
      await sleep(quietMs);
    }
  } finally {
    Reflect.set(pg.Client.prototype, "query", query);
    stopRecording();
  }
  return sent.map((statement) => ({ ...statement, ms: statement.ms ?? 0 }));
}

interface PublishedStatement {
  readonly text: string;
  readonly params: readonly unknown[];
}

/** Notes the statements of the product's own driver; those of the queue go through `pg`. */
function recordProduct(sent: Recorded[]): () => void {
  const channel = tracingChannel<unknown, PublishedStatement>("atelier:statement");
  const noteEnd = new Map<object, () => void>();
  const nothing = () => undefined;
  const subscriber = {
    start(statement: PublishedStatement) {
      const beganMs = performance.now();
      const entry: Recorded = { text: statement.text, values: statement.params, ms: null };
      sent.push(entry);
      noteEnd.set(statement, () => void (entry.ms = performance.now() - beganMs));
    },
    end: nothing,
    asyncStart: nothing,
    asyncEnd: (statement: PublishedStatement) => noteEnd.get(statement)?.(),
    error: nothing,
  };
  channel.subscribe(subscriber);
  return () => {
    channel.unsubscribe(subscriber);
  };
}

/** A pool's own queries are answered by a callback. */
function noting(arg: unknown, note: () => void): unknown {
  if (typeof arg !== "function") return arg;
  return (...answer: unknown[]): unknown => {
    note();
    return Reflect.apply(arg, undefined, answer);
  };
}

function partsOf([first, second]: readonly unknown[]): Pick<SentStatement, "text" | "values"> {
  const values = Array.isArray(second) ? second : [];
  if (typeof first === "string") return { text: first, values };
  const text: unknown = Reflect.get(Object(first), "text");
  return { text: String(text), values };
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
