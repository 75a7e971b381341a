import { claim, type Job, type Lease } from "@atelier/server/jobs";
import type { BellConsumer } from "@atelier/server/queue";
import type { Services } from "@atelier/server/services";
import type { NodeOffer } from "./capability.ts";
import type { Engine } from "./engines/index.ts";
import type { Incarnation } from "./incarnation.ts";
import { runJob } from "./run-job.ts";
import { RunStopped, type Runs } from "./runs.ts";

export interface ConsumeInput {
  readonly offer: NodeOffer;
  readonly engines: readonly Engine[];
  readonly incarnation: Incarnation;
  readonly runs: Runs;
  /** Claims of one node are made one after another; whoever must not meet a claim uses it too. */
  readonly oneAtATime: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Answers each bell with claims and runs until there is nothing left to claim; at most `slots` at once. One bell may
 * stand for several rows: a lost bell is then made up for by the next run's end.
 */
export function consume(services: Services, input: ConsumeInput): BellConsumer {
  const { offer, runs } = input;
  return services.bells.consume(offer.queue, offer.slots, async () => {
    for (;;) {
      const begun = await input.oneAtATime(() => begin(services, input));
      if (!begun) return;
      await begun.ended.catch((error: unknown) => {
        if (!(error instanceof RunStopped))
          services.log.error({ err: error }, "a run ended outside of its own care");
      });
      if (runs.isClosed()) return;
    }
  });
}

/** Wrapped, so that the mutex waits for the claim alone and not for the run. */
async function begin(services: Services, input: ConsumeInput): Promise<{ ended: Promise<void> } | null> {
  const { offer, runs } = input;
  const node = input.incarnation.current();
  if (!node || runs.isClosed()) return null;
  const { kinds } = offer.capability;
  const job = await claim(services, { nodeId: node.id, queue: offer.queue, kinds });
  if (!job) return null;
  const lease: Lease = { jobId: job.id, attempt: job.attempt, nodeId: node.id };
  const engine = findEngine(input.engines, job);
  return { ended: runs.add(lease, (signal) => runJob(services, { job, lease, engine, signal })) };
}

function findEngine(engines: readonly Engine[], job: Job): Engine | null {
  return engines.find(({ name, kinds }) => name === job.engine && kinds.includes(job.kind)) ?? null;
}
