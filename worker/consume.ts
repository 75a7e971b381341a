import { claim, type Lease } from "@atelier/server/jobs";
import { AppError } from "@atelier/server/platform";
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

/** Answers each bell with one claim and the run of what was claimed; at most `slots` at once. */
export function consume(services: Services, input: ConsumeInput): BellConsumer {
  const { offer, incarnation, runs, oneAtATime } = input;
  return services.bells.consume(offer.queue, offer.slots, async () => {
    const begun = await oneAtATime(async () => {
      const node = incarnation.current();
      if (!node) return null;
      const job = await claim(services, {
        nodeId: node.id,
        queue: offer.queue,
        kinds: offer.capability.kinds,
      });
      if (!job) return null;
      const lease: Lease = { jobId: job.id, attempt: job.attempt, nodeId: node.id };
      const engine = input.engines.find(
        (candidate) => candidate.name === job.engine && candidate.kinds.includes(job.kind),
      );
      const ended = runs.add(lease, (signal) =>
        engine ? runJob(services, { job, lease, engine, signal }) : Promise.reject(new AppError("no_engine")),
      );
      // Wrapped, so that the mutex waits for the claim alone and not for the run.
      return { ended };
    });
    await begun?.ended.catch((error: unknown) => {
      if (!(error instanceof RunStopped))
        services.log.error({ err: error }, "a run ended outside of its own care");
    });
  });
}
