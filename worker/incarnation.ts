import { ownIdentity, register, type Node } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import { startBeat, type Beat } from "./beat.ts";
import type { NodeOffer } from "./capability.ts";

/** The node that this process is at the moment; a new one is registered when the old was called lost. */
export interface Incarnation {
  /** Null while a new incarnation is being registered. */
  current(): Node | null;
  stop(): Promise<void>;
}

export interface IncarnationInput {
  readonly name: string;
  readonly offer: NodeOffer;
  /** Called when the node was called lost, before the new one is registered. */
  readonly onLost: () => Promise<void>;
}

const retryMs = 1_000;

export async function startIncarnation(services: Services, input: IncarnationInput): Promise<Incarnation> {
  const { name, offer, onLost } = input;
  const state = { node: null as Node | null, beat: null as Beat | null, stopped: false };

  async function begin(replaces?: string): Promise<void> {
    const node = await register(services, {
      name,
      identity: ownIdentity(),
      capability: offer.capability,
      queues: [offer.queue],
      slots: offer.slots,
      ...(replaces ? { replaces } : {}),
    });
    state.node = node;
    state.beat = startBeat(services, node.id, () => void rebirth(node.id));
  }

  async function rebirth(lostId: string): Promise<void> {
    if (state.stopped || state.node?.id !== lostId) return;
    state.node = null;
    services.log.warn({ nodeId: lostId }, "this node was called lost; starting as a new one");
    await onLost();
    while (!state.stopped) {
      try {
        await begin(lostId);
        return;
      } catch (error) {
        services.log.warn({ err: error }, "cannot register, trying again");
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  await begin();
  return {
    current: () => state.node,
    async stop() {
      state.stopped = true;
      await state.beat?.stop();
    },
  };
}
