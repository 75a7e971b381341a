import { schema } from "@atelier/server/db";
import { claim, complete, start, submit } from "@atelier/server/jobs";
import { ownIdentity, register } from "@atelier/server/nodes";
import { newId } from "@atelier/server/platform";
import type { BellConsumer } from "@atelier/server/queue";
import type { Stage } from "./stage.ts";

const queue = "cpu-light";
const offers = [{ need: "local/upscale", servers: null }] as const;

/** Jobs of the product whose engine does nothing: all that is measured is the way from submit to completed. */
export interface ZeroWork {
  /** Resolves with the job's id as soon as it is accepted. */
  accept(): Promise<string>;
  close(): Promise<void>;
}

export interface ZeroWorkEvents {
  readonly slots: number;
  onStarted?(jobId: string): void;
  onCompleted?(jobId: string): void;
}

/** A picture's row is enough: nobody reads its file. */
async function insertImage(stage: Stage): Promise<string> {
  const id = newId();
  await stage.services.db.insert(schema.images).values({
    id,
    ownerId: stage.ownerId,
    role: "upload",
    storageKey: `users/${stage.ownerId}/${id}`,
    storedSha256: "0".repeat(64),
    mime: "image/png",
    widthPx: 64,
    heightPx: 64,
    sizeBytes: 1,
    thumbhash: "",
  });
  return id;
}

export async function startZeroWork(stage: Stage, events: ZeroWorkEvents): Promise<ZeroWork> {
  const { services } = stage;
  const image = await insertImage(stage);
  const node = await register(services, {
    name: "bench",
    identity: ownIdentity(),
    capability: { cores: 2, memoryBytes: 4 * 1024 ** 3, gpus: [], kinds: ["upscale"], engines: ["local"] },
    queues: [{ queue, slots: events.slots, needs: ["local/upscale"] }],
  });
  let last: Promise<unknown> = Promise.resolve();
  const claimNext = () => {
    const next = last.then(() => claim(services, { nodeId: node.id, queue, offers }));
    last = next.catch(() => {});
    return next;
  };
  // As the worker does: each bell is answered with claims until there is nothing left.
  const consumer: BellConsumer = services.bells.consume(queue, events.slots, async () => {
    for (let job = await claimNext(); job; job = await claimNext()) {
      const lease = { jobId: job.id, attempt: job.attempt, nodeId: node.id };
      events.onStarted?.(job.id);
      await start(services, lease);
      await complete(services, { lease, outputs: [], facts: {} });
      events.onCompleted?.(job.id);
    }
  });
  return {
    async accept() {
      const request = { kind: "upscale", inputs: { image } };
      const { id } = await submit(services, request, {
        submitter: { userId: stage.ownerId, isGuest: false },
      });
      return id;
    },
    close: () => consumer.close(),
  };
}
