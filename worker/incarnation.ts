import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { NodeProblem } from "@atelier/server/db";
import { type Node, ownIdentity, register, type Registration } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Workflow } from "@atelier/server/workflows";
import type { BeatInput, BeatMessage, BeatOrder } from "./beat-thread.ts";
import type { Incarnation } from "./base/index.ts";
import type { NodeOffer } from "./offer.ts";
import { toNodeQueue } from "./offer.ts";

interface IncarnationInput {
  readonly name: string;
  /** What the node offers at the moment of a registration. */
  readonly offer: () => NodeOffer;
  readonly workflows: readonly Workflow[];
  readonly problems: readonly NodeProblem[];
  readonly inherits: boolean;
  /** Called after each registration. */
  readonly onRegistered: (node: Node) => void;
  /** Called when the node was marked lost, before the new one is registered. Must not throw. */
  readonly onLost: () => Promise<void>;
}

const retryMs = 1_000;

interface State {
  node: Node | null;
  beat: Beat | null;
  registeringAgain: Promise<void> | null;
  readonly stopping: AbortController;
}

/**
 * Registers a node and beats for it; once the node is marked lost, another one takes its place until `stop`. Rejects when
 * the first registration fails.
 */
export async function startIncarnation(services: Services, input: IncarnationInput): Promise<Incarnation> {
  const state: State = { node: null, beat: null, registeringAgain: null, stopping: new AbortController() };

  async function begin(replaces?: string): Promise<void> {
    // First: a thread that takes seconds to start, as on a busy machine, would leave a registered node without a beat. One that
    // waits for its node since a registration failed is taken again.
    state.beat = state.beat?.isWaiting() ? state.beat : await openBeat(services);
    const { beat } = state;
    const node = await register(services, { ...registrationOf(input), ...(replaces ? { replaces } : {}) });
    input.onRegistered(node);
    state.node = node;
    beat.start(node.id, () => {
      state.registeringAgain = registerAgain(node.id);
    });
  }

  async function registerAgain(lostId: string): Promise<void> {
    if (state.stopping.signal.aborted || state.node?.id !== lostId) return;
    state.node = null;
    services.log.warn({ nodeId: lostId }, "this node was marked lost; registering a new one");
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

  await begin().catch((error: unknown) => {
    void state.beat?.stop();
    throw error;
  });
  return {
    current: () => state.node,
    async stop() {
      state.stopping.abort();
      // A registration may be under way: its beat must stop too.
      await state.registeringAgain;
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

interface Beat {
  /** Whether its thread runs and has no node yet. */
  isWaiting(): boolean;
  /** `onLost` is called when the node's row is no longer alive, or the thread has ended by itself. */
  start(nodeId: string, onLost: () => void): void;
  stop(): Promise<void>;
}

/**
 * Opens the beat of a node in its own thread, so that a busy main thread does not count as dead; only a main thread that
 * stalls for `mainThreadStallMs` stops the beat. Resolves when the thread can beat; throws when it fails before that.
 */
async function openBeat(services: Services): Promise<Beat> {
  const { timing } = services.config;
  const input: BeatInput = {
    databaseUrl: services.env.DATABASE_DIRECT_URL ?? services.env.DATABASE_URL ?? "",
    beatMs: timing.beatMs,
    mainThreadStallMs: timing.mainThreadStallMs,
  };
  const thread = new Worker(new URL("./beat-thread.ts", import.meta.url), {
    workerData: input,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
  });
  const order = (message: BeatOrder) => thread.postMessage(message);
  const tick = setInterval(() => order("tick"), timing.beatMs);
  const ended = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  let state: "waiting" | "beating" | "ended" = "waiting";
  let tellLost: (() => void) | null = null;
  /** Once: a thread that found its node lost ends, too. */
  const lose = () => {
    const tell = tellLost;
    tellLost = null;
    tell?.();
  };
  thread.on("message", ({ type }: BeatMessage) => {
    if (type === "ready") ready.resolve();
    else lose();
  });
  thread.on("error", (error) => services.log.error({ err: error }, "beat thread failed"));
  thread.once("exit", () => {
    clearInterval(tick);
    state = "ended";
    ended.resolve();
    ready.reject(new Error("The thread of the beat ended at its start."));
    lose();
  });
  await ready.promise;
  return {
    isWaiting: () => state === "waiting",
    start(nodeId, onLost) {
      tellLost = onLost;
      if (state === "ended") return lose();
      state = "beating";
      order({ nodeId });
    },
    async stop() {
      clearInterval(tick);
      tellLost = null;
      order("stop");
      await ended.promise;
    },
  };
}
