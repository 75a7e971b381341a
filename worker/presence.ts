import { setTimeout as sleep } from "node:timers/promises";
import { ownIdentity, register, type Node, type Registration } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { NodeProblem } from "@atelier/server/db";
import type { Workflow } from "@atelier/server/workflows";
import { startBeat, type Beat } from "./beat.ts";
import type { NodeOffer } from "./offer/index.ts";
import { toNodeQueue } from "./to-node-queue.ts";

/** The node that this process is at the moment; a new one is registered when the old was called lost. */
export interface Incarnation {
  /** Null while a new incarnation is being registered. */
  current(): Node | null;
  /** Ends the beat; `current` then stays as it is. */
  stop(): Promise<void>;
}

export interface IncarnationInput {
  readonly name: string;
  /** What the node offers at the moment of a registration. */
  readonly offer: () => NodeOffer;
  readonly workflows: readonly Workflow[];
  readonly problems: readonly NodeProblem[];
  readonly inherits: boolean;
  /** Called after each registration. */
  readonly onRegistered: (node: Node) => void;
  /** Called when the node was called lost, before the new one is registered. Must not throw. */
  readonly onLost: () => Promise<void>;
}

const retryMs = 1_000;

interface State {
  node: Node | null;
  beat: Beat | null;
  rebirth: Promise<void> | null;
  readonly stopping: AbortController;
}

export async function startIncarnation(services: Services, input: IncarnationInput): Promise<Incarnation> {
  const state: State = { node: null, beat: null, rebirth: null, stopping: new AbortController() };

  async function begin(replaces?: string): Promise<void> {
    const node = await register(services, { ...registrationOf(input), ...(replaces ? { replaces } : {}) });
    input.onRegistered(node);
    state.node = node;
    state.beat = startBeat(services, node.id, () => {
      state.rebirth = rebirth(node.id);
    });
  }

  async function rebirth(lostId: string): Promise<void> {
    if (state.stopping.signal.aborted || state.node?.id !== lostId) return;
    state.node = null;
    services.log.warn({ nodeId: lostId }, "this node was called lost; starting as a new one");
    await input.onLost();
    while (!state.stopping.signal.aborted) {
      try {
        await begin(lostId);
        return;
      } catch (error) {
        services.log.warn({ err: error }, "cannot register, trying again");
        await sleep(retryMs, undefined, { signal: state.stopping.signal }).catch(() => undefined);
      }
    }
  }

  await begin();
  return {
    current: () => state.node,
    async stop() {
      state.stopping.abort();
      // A new incarnation may be half made: its beat must stop too.
      await state.rebirth;
      await state.beat?.stop();
    },
  };
}

function registrationOf({ offer, ...input }: IncarnationInput): Registration {
  const { name, workflows, problems, inherits } = input;
  const { capability, queues: own } = offer();
  const queues = own.map(toNodeQueue);
  return { name, identity: ownIdentity(), capability, queues, workflows, problems, inherits };
}
