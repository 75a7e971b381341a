import { claim, complete, dispatch, start, type Job } from "@atelier/server/jobs";
import { ownIdentity, register, retire } from "@atelier/server/nodes";
import type { BellConsumer } from "@atelier/server/queue";
import type { Services } from "@atelier/server/services";
import type { Need } from "@atelier/server/engines";

/** The queue that every light node serves. */
export const lightQueue = "cpu-light";

export interface LightNodeOptions {
  readonly name?: string;
  readonly slots: number;
  /** What it can do; upscaling by default. */
  readonly needs?: readonly Need[];
  /** The run itself; nothing by default. */
  run?(job: Job): Promise<void>;
  onStarted?(jobId: string, job: Job): void;
  onCompleted?(jobId: string, job: Job): void;
}

export interface LightNode {
  /** Takes nothing new; resolves when its jobs are done. */
  close(): Promise<void>;
}

/** A node without files, engines and loops: it claims as a worker does, waits, and completes. */
export async function startLightNode(services: Services, options: LightNodeOptions): Promise<LightNode> {
  const needs = options.needs ?? ["local/upscale"];
  const node = await register(services, {
    name: options.name ?? "bench",
    identity: ownIdentity(),
    capability: { cores: 2, memoryBytes: 4 * 1024 ** 3, gpus: [], kinds: ["upscale"], engines: ["local"] },
    queues: [{ queue: lightQueue, slots: options.slots, needs: [...needs] }],
  });
  const offers = needs.map((need) => ({ need, servers: null }));
  let isOpen = true;
  let last: Promise<unknown> = Promise.resolve();
  const claimNext = () => {
    const claimOne = () => claim(services, { nodeId: node.id, queue: lightQueue, offers });
    const next = last.then(() => (isOpen ? claimOne() : null));
    last = next.catch(() => {});
    return next;
  };
  // As the worker does: each bell is answered with claims until there is nothing left.
  const consumer: BellConsumer = services.bells.consume(lightQueue, options.slots, async () => {
    for (let job = await claimNext(); job; job = await claimNext()) {
      const lease = { jobId: job.id, attempt: job.attempt, nodeId: node.id };
      options.onStarted?.(job.id, job);
      await start(services, lease);
      await options.run?.(job);
      await complete(services, { lease, outputs: [], facts: {} });
      options.onCompleted?.(job.id, job);
    }
  });
  // What waits already is let out now that somebody can take it.
  await dispatch(services, lightQueue);
  return {
    async close() {
      isOpen = false;
      await consumer.close();
      await retire(services, node.id);
    },
  };
}
