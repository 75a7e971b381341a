import { claim, type Job, type Lease, type QueueOffers } from "@atelier/server/jobs";
import { oneAtATime } from "@atelier/server/platform";
import type { BellConsumer } from "@atelier/server/queue";
import type { Services } from "@atelier/server/services";
import { type CloudRunInput, type Providers, runCloudJob } from "./cloud/index.ts";
import type { Engine } from "./engines/index.ts";
import type { LiveOffer } from "./live-offer.ts";
import { type Incarnation, RunStopped } from "./base/index.ts";
import { noteClaim } from "./base/spans.ts";
import type { Readiness } from "./readiness.ts";
import { hearWatchers } from "./report.ts";
import { runJob } from "./run-job.ts";
import type { Runs } from "./runs.ts";
import type { SharedServers } from "./shared-servers.ts";

export interface ConsumeInput {
  readonly offer: LiveOffer;
  readonly engines: readonly Engine[];
  /** Without them no job for a provider is claimed. */
  readonly providers?: Providers & Pick<CloudRunInput, "onBusy">;
  /** Also the key under which its claims run one at a time. Code that must not run during a claim takes the same. */
  readonly incarnation: Incarnation;
  readonly runs: Runs;
  /** With a full disk or without the image store nothing is claimed. */
  readonly readiness: Pick<Readiness, "isReady">;
  readonly sharedServers: Pick<SharedServers, "take">;
}

/** The consumers of a node: one for the bells of each offered queue. */
export interface Consumers {
  /** Adapts to the current offer: new queues, changed numbers of slots. */
  follow(): void;
  /** Whether the node may claim. A drained node consumes no bells, so that other nodes get them. */
  setActive(isActive: boolean): void;
  isActive(): boolean;
  /** Claims without a bell, for instance when a server became free although no run of this node ended. */
  claimNow(): void;
  close(): Promise<void>;
}

/**
 * Consumes the bells of the offered queues, at most `slots` at once per queue. Each bell is answered with claims and runs
 * until nothing is left to claim, so the end of a run also makes up for a lost bell.
 */
export function consume(services: Services, input: ConsumeInput): Consumers {
  // Before the first claim: whoever watches a job asks for previews as soon as it runs.
  hearWatchers(services);
  const unasked = new Set<Promise<void>>();
  let isActive = true;
  const wanted = () => input.offer.current().queues.filter(({ slots }) => isActive && slots > 0);
  const claimIn = (queue: string) => {
    const answered = answer(services, input, answerInput(queue)).catch((error: unknown) =>
      services.log.warn({ err: error, queue }, "claim failed, the sweep rings again"),
    );
    unasked.add(answered);
    void answered.finally(() => unasked.delete(answered));
  };
  const claimNow = () => {
    for (const { queue } of wanted()) claimIn(queue);
  };
  const answerInput = (queue: string): AnswerInput => ({
    queue,
    onEmpty() {
      for (const other of wanted()) if (other.queue !== queue) claimIn(other.queue);
    },
  });
  const subscriptions = createSubscriptions(services, (queue) => answer(services, input, answerInput(queue)));
  const follow = () => subscriptions.follow(new Map(wanted().map(({ queue, slots }) => [queue, slots])));
  follow();
  return {
    follow,
    setActive(next) {
      if (next === isActive) return;
      isActive = next;
      follow();
      claimNow();
    },
    isActive: () => isActive,
    claimNow,
    async close() {
      await subscriptions.close();
      await Promise.all(unasked);
    },
  };
}

interface AnswerInput {
  readonly queue: string;
  /** Called when the node has no run left: other queues may hold a job that waits for an empty node. */
  readonly onEmpty: () => void;
}

async function answer(
  services: Services,
  input: ConsumeInput,
  { queue, onEmpty }: AnswerInput,
): Promise<void> {
  for (let hasRun = false; ; hasRun = true) {
    const begun = await oneAtATime(input.incarnation, () => begin(services, input, queue));
    if (!begun) {
      if (hasRun && !input.runs.isClosed() && input.runs.leases().length === 0) onEmpty();
      return;
    }
    await begun.ended.catch((error: unknown) => {
      if (!(error instanceof RunStopped)) services.log.error({ err: error }, "a run rejected unexpectedly");
    });
    if (input.runs.isClosed()) return;
  }
}

/** Claims one job and starts its run. The promise of the run is wrapped, so that the lock waits for the claim only. */
async function begin(
  services: Services,
  input: ConsumeInput,
  queue: string,
): Promise<{ ended: Promise<void> } | null> {
  const { offer, runs } = input;
  const node = input.incarnation.current();
  const slots = offer.current().queues.find((own) => own.queue === queue)?.slots ?? 0;
  // The number of slots may have become smaller since the bell was taken.
  if (!node || !input.readiness.isReady() || runs.isClosed() || runs.count(queue) >= slots) return null;
  const claimingAt = new Date();
  const job = await claim(services, {
    nodeId: node.id,
    queue,
    offers: offer.freeOffers(queue),
    otherQueues: otherQueuesOf(input, queue),
  });
  if (!job) return null;
  noteClaim(services, job, claimingAt);
  const lease: Lease = { jobId: job.id, attempt: job.attempt, nodeId: node.id };
  const engine = findEngine(input.engines, job);
  const otherServers = offer.otherServers(queue, job.need);
  const onBegin = () => runs.noteBegun(lease);
  const { sharedServers, providers } = input;
  const work = (signal: AbortSignal) =>
    job.engine === "cloud" && providers
      ? runCloudJob(services, { job, lease, signal, ...providers })
      : runJob(services, { job, lease, engine, otherServers, sharedServers, signal, onBegin });
  return { ended: runs.add({ lease, queue, engine: job.engine, need: job.need }, work) };
}

/** What the node could take from its other queues: now when it is empty, else after its runs have ended. */
function otherQueuesOf({ offer, runs }: ConsumeInput, queue: string): QueueOffers[] {
  const isEmpty = runs.leases().length === 0;
  return offer
    .current()
    .queues.filter((other) => other.queue !== queue && other.slots > 0)
    .map((other) => ({
      queue: other.queue,
      offers: isEmpty ? offer.freeOffers(other.queue) : offer.offers(other.queue),
    }));
}

function findEngine(engines: readonly Engine[], job: Job): Engine | null {
  return engines.find(({ name, kinds }) => name === job.engine && kinds.includes(job.kind)) ?? null;
}

/** The queues whose bells this node consumes. */
interface Subscriptions {
  /** Slots by queue; consumers of all other queues are closed. */
  follow(wanted: ReadonlyMap<string, number>): void;
  /** Resolves when all bells under way are answered. */
  close(): Promise<void>;
}

interface Subscription {
  readonly queue: string;
  readonly consumer: BellConsumer;
  /** Number of bells under way. */
  answering: number;
}

/** Has no consumers before the first `follow`. */
function createSubscriptions(
  { bells, log }: Pick<Services, "bells" | "log">,
  answer: (queue: string) => Promise<void>,
): Subscriptions {
  const open = new Map<string, Subscription>();
  const closing = new Map<Subscription, Promise<void>>();
  let wanted: ReadonlyMap<string, number> = new Map();
  let isClosed = false;

  function subscribe(queue: string, slots: number): Subscription {
    const subscription: Subscription = {
      queue,
      answering: 0,
      consumer: bells.consume(queue, slots, async () => {
        subscription.answering += 1;
        await answer(queue).finally(() => {
          subscription.answering -= 1;
          if (closing.has(subscription)) fit();
        });
      }),
    };
    log.info({ queue, slots }, "queue joined");
    return subscription;
  }
  function unsubscribe(subscription: Subscription): void {
    const { queue } = subscription;
    open.delete(queue);
    log.info({ queue }, "leaving queue");
    closing.set(subscription, closeConsumer(subscription));
  }
  async function closeConsumer(subscription: Subscription): Promise<void> {
    const { queue } = subscription;
    await subscription.consumer
      .close()
      .catch((error: unknown) => log.warn({ err: error, queue }, "queue not left in order"));
    closing.delete(subscription);
    log.info({ queue }, "queue left");
    fit();
  }
  /** Opens and closes consumers. Runs of a closing consumer of the same queue count against the slots of its successor. */
  function fit(): void {
    for (const subscription of open.values()) if (!wanted.has(subscription.queue)) unsubscribe(subscription);
    for (const [queue, slots] of wanted) {
      const before = [...closing.keys()].filter((subscription) => subscription.queue === queue);
      const free = slots - before.reduce((sum, { answering }) => sum + answering, 0);
      const subscription = open.get(queue);
      if (subscription) subscription.consumer.setSlots(Math.max(1, free));
      else if (free > 0) open.set(queue, subscribe(queue, free));
    }
  }
  return {
    follow(next) {
      if (isClosed) return;
      wanted = next;
      fit();
    },
    async close() {
      isClosed = true;
      wanted = new Map();
      fit();
      await Promise.all(closing.values());
    },
  };
}
