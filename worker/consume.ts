import { claim, type Job, type Lease } from "@atelier/server/jobs";
import type { BellConsumer } from "@atelier/server/queue";
import type { Services } from "@atelier/server/services";
import type { Engine } from "./engines/index.ts";
import type { Incarnation } from "./incarnation.ts";
import type { LiveOffer } from "./offer/index.ts";
import { runJob } from "./run-job.ts";
import { RunStopped, type Runs } from "./runs.ts";

export interface ConsumeInput {
  readonly offer: LiveOffer;
  readonly engines: readonly Engine[];
  readonly incarnation: Incarnation;
  readonly runs: Runs;
  /** Claims of one node are made one after another; whoever must not meet a claim uses it too. */
  readonly oneAtATime: <T>(work: () => Promise<T>) => Promise<T>;
}

/** The subscriptions of a node. */
export interface Consumers {
  /** Follows what the node offers now: new queues, other numbers of slots. */
  follow(): void;
  /** Claims without a bell: a server has become free on which no bell's run had been. */
  claimNow(): void;
  close(): Promise<void>;
}

/**
 * Subscribes to the queues of the offer. Each bell is answered with claims and runs until there is nothing left to
 * claim, at most `slots` at once. One bell may stand for several rows: a lost bell is then made up for by the next run's end.
 */
export function consume(services: Services, input: ConsumeInput): Consumers {
  const consumers = new Map<string, BellConsumer>();
  const unasked = new Set<Promise<void>>();
  const follow = () => {
    for (const { queue, slots } of input.offer.current().queues) {
      // A queue without a slot at the moment keeps one consumer: its claims find nothing to take.
      const atOnce = Math.max(1, slots);
      const known = consumers.get(queue);
      if (known) known.setSlots(atOnce);
      else
        consumers.set(
          queue,
          services.bells.consume(queue, atOnce, () => answer(services, input, queue)),
        );
    }
  };
  follow();
  return {
    follow,
    claimNow() {
      for (const queue of consumers.keys()) {
        const answered = answer(services, input, queue).catch((error: unknown) =>
          services.log.warn({ err: error, queue }, "claim failed, the sweep rings again"),
        );
        unasked.add(answered);
        void answered.finally(() => unasked.delete(answered));
      }
    },
    async close() {
      await Promise.all([...consumers.values()].map((consumer) => consumer.close()));
      await Promise.all(unasked);
    },
  };
}

async function answer(services: Services, input: ConsumeInput, queue: string): Promise<void> {
  for (;;) {
    const begun = await input.oneAtATime(() => begin(services, input, queue));
    if (!begun) return;
    await begun.ended.catch((error: unknown) => {
      if (!(error instanceof RunStopped))
        services.log.error({ err: error }, "a run ended outside of its own care");
    });
    if (input.runs.isClosed()) return;
  }
}

/** Claims one job and starts its run; wrapped, so that the mutex waits for the claim alone and not for the run. */
async function begin(
  services: Services,
  input: ConsumeInput,
  queue: string,
): Promise<{ ended: Promise<void> } | null> {
  const { offer, runs } = input;
  const node = input.incarnation.current();
  const slots = offer.current().queues.find((own) => own.queue === queue)?.slots ?? 0;
  // Slots may have become fewer while bells were answered.
  if (!node || runs.isClosed() || runs.count(queue) >= slots) return null;
  const job = await claim(services, { nodeId: node.id, queue, offers: offer.freeOffers(queue) });
  if (!job) return null;
  const lease: Lease = { jobId: job.id, attempt: job.attempt, nodeId: node.id };
  const engine = findEngine(input.engines, job);
  const otherServers = offer.otherServers(queue, job.need);
  const work = (signal: AbortSignal) => runJob(services, { job, lease, engine, otherServers, signal });
  return { ended: runs.add({ lease, queue, engine: job.engine }, work) };
}

function findEngine(engines: readonly Engine[], job: Job): Engine | null {
  return engines.find(({ name, kinds }) => name === job.engine && kinds.includes(job.kind)) ?? null;
}
