import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { NodeProblem } from "@atelier/server/db";
import {
  closeDoors,
  markGone,
  storeRunCounts,
  type Node,
  ownIdentity,
  register,
  type Registration,
} from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";
import type { Workflow } from "@atelier/server/workflows";
import type { BeatInput, BeatMessage, BeatOrder } from "./beat-thread.ts";
import type { Incarnation } from "./base/index.ts";
import type { LiveOffer, NodeOffer } from "./live-offer.ts";
import { toNodeQueue } from "./offer.ts";
import type { Runs } from "./runs.ts";

interface RegisterInput {
  readonly offer: LiveOffer;
  readonly runs: Runs;
  /** A `--once` worker ignores saved settings and registers as `<name>-once`, so it never replaces a permanent node. */
  readonly isOnce?: boolean;
}

/** Registers the node. When it is marked lost, all its runs are stopped before the process registers a new one. */
export function registerNode(
  services: Services,
  {
    workflows,
    problems,
  }: { readonly workflows: readonly Workflow[]; readonly problems: readonly NodeProblem[] },
  { offer, runs, isOnce = false }: RegisterInput,
): Promise<Incarnation> {
  const name = services.env.WORKER_NAME ?? os.hostname();
  return startIncarnation(services, {
    name: isOnce ? `${name}-once` : name,
    offer: () => offer.current(),
    workflows: workflows.filter(({ isBuiltIn }) => !isBuiltIn),
    problems,
    inherits: !isOnce,
    onRegistered(node) {
      // Before the first claim: an earlier node of this name may have left settings.
      offer.setSettings(node.settings);
      offer.refuse(node.problems.map(({ what }) => what));
    },
    onLost: async () => {
      runs.stopAll("lost");
      await runs.settled();
    },
  });
}

/** Runs that are not done are handed back this long before the grace time ends. */
const handBackLeadMs = 5_000;

interface ShutDownInput {
  readonly incarnation: Incarnation;
  readonly runs: Runs;
  readonly consumers: { close(): Promise<void> };
  /** Resolves when the grace time begins. A node that an admin stops has no grace time and finishes its jobs. */
  readonly signalled: Promise<unknown>;
  /** What else is handed back while the node is there, such as stages of the assistant; never rejects. */
  readonly othersDone: Promise<unknown>;
}

/** Drains the node, waits for its jobs while it still beats, then marks it gone. */
export async function shutDownNode(services: Services, input: ShutDownInput): Promise<void> {
  const { incarnation, runs, consumers } = input;
  runs.close();
  const handBackMs = Math.max(0, services.config.timing.stopGraceMs - handBackLeadMs);
  const over = new AbortController();
  void input.signalled
    .then(() => sleep(handBackMs, undefined, { signal: over.signal }))
    .then(() => runs.stopAll("stopping"))
    .catch(() => undefined);
  const draining = incarnation.current();
  if (draining)
    await closeDoors(services, draining.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not drained"),
    );
  await consumers.close();
  await Promise.all([runs.settled(), input.othersDone]);
  over.abort();
  await incarnation.stop();
  await storeRunCounts(services);
  // Read again: the node may have been lost and replaced in the meantime.
  const last = incarnation.current();
  if (last)
    await markGone(services, last.id).catch((error: unknown) =>
      services.log.warn({ err: error }, "not retired"),
    );
}

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

async function startIncarnation(services: Services, input: IncarnationInput): Promise<Incarnation> {
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
