import { submit } from "@atelier/server/jobs";
import { insertImage } from "./insert-image.ts";
import { startLightNode } from "./light-node.ts";
import type { Stage } from "./stage.ts";

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

export async function startZeroWork(stage: Stage, events: ZeroWorkEvents): Promise<ZeroWork> {
  const { services, ownerId } = stage;
  const image = await insertImage(services, ownerId);
  const node = await startLightNode(services, events);
  return {
    async accept() {
      const request = { kind: "upscale", inputs: { image } };
      const { id } = await submit(services, request, { submitter: { userId: ownerId, isGuest: false } });
      return id;
    },
    close: () => node.close(),
  };
}
