import type { NodeProblem } from "@atelier/server/db";
import { cloudEngine } from "@atelier/server/engines";
import { keepJobLogs } from "@atelier/server/jobs";
import { AppError, type Env } from "@atelier/server/platform";
import { readyGate } from "@atelier/server/gate";
import { isGpuQueue } from "@atelier/server/scheduling";
import type { Services } from "@atelier/server/services";
import { builtInWorkflows, readWorkflowFolder, type Workflow } from "@atelier/server/workflows";
import { startAssistant } from "./assistant.ts";
import { consume, type ConsumeInput } from "./claims.ts";
import { startDeliveries } from "./deliveries.ts";
import { startAwaiting, startDuties, startOrphanedPrompts } from "./duties.ts";
import type { Engine } from "./engines/index.ts";
import { startUntilEmpty, type UntilEmpty, withOneQueue } from "./until-empty.ts";
import { openWorkerHttp } from "./http/index.ts";
import { createProviderRoom, type ProviderRoom, type Providers, startFollowing } from "./cloud/index.ts";
import { createLiveOffer, type LiveOffer } from "./live-offer.ts";
import { cloudOfferOf, detectMachine, parseOnly } from "./offer.ts";
import { followNode, startAdminRequests, startRepublishing } from "./node.ts";
import { registerNode, shutDownNode } from "./presence.ts";
import { startTelegram } from "./telegram/index.ts";
import { createReadiness, startReadinessWatch } from "./readiness.ts";
import { createRuns, type Runs } from "./runs.ts";
import { createSharedServers } from "./shared-servers.ts";
import type { ServerPool } from "./servers/index.ts";
import { startWatchOver } from "./watch-over.ts";

/**
 * Why the process stops: a signal; `retired`: an admin asked its node to stop; and of a worker for one queue `empty`: no job is
 * left there, or `unserved`: it got no server.
 */
type StopCause = NodeJS.Signals | "retired" | "empty" | "unserved";

export interface WorkInput {
  readonly engines: readonly Engine[];
  readonly pool: ServerPool;
  /** Keys and clients of image providers; without a key nothing is offered for them. */
  readonly providers: Providers;
  /** Built-in workflows and those of this node's folder. */
  readonly workflows: () => readonly Workflow[];
  /** Those of that folder. */
  readonly ownWorkflows: readonly Workflow[];
  /** Workflows of that folder that were refused. */
  readonly problems: readonly NodeProblem[];
  /** Takes jobs of one queue alone, and ends when there was none for so long. */
  readonly until?: UntilEmpty;
}

/**
 * Runs until SIGINT, SIGTERM or an admin's request; then claims nothing new, finishes or hands back its jobs and marks its
 * node gone. Returns the cause: another than a signal only when no signal came as well.
 */
export async function work(services: Services, input: WorkInput): Promise<StopCause> {
  // First, so that a signal during the start is caught too.
  const stop = onceStopped();
  const { engines, pool, until } = input;
  const jobLogs = keepJobLogs(services);
  const runs = createRuns();
  const room = createProviderRoom(services, {
    keys: input.providers.keys,
    onRoom: () => consumers.claimNow(),
  });
  const offer = await openOffer(services, input, { runs, room });
  const http = await openWorkerHttp(services);
  const readiness = createReadiness(services);
  await readiness.refresh();
  const { ownWorkflows: workflows, problems } = input;
  const registering = { offer, runs, isOnce: until !== undefined };
  const incarnation = await registerNode(services, { workflows, problems }, registering);
  http?.show({ incarnation, offer, runs, pool, readiness });
  const sharedServers = createSharedServers(services);
  const consumeInput: ConsumeInput = {
    offer,
    engines,
    providers: { ...input.providers, onBusy: room.noteBusy },
    incarnation,
    runs,
    readiness,
    sharedServers,
  };
  const consumers = consume(services, consumeInput);
  consumers.setActive(readiness.isReady());
  void pool.start();
  // They wait for messages of people, or recur: nothing for a worker that ends soon.
  const telegram = until
    ? null
    : startTelegram(services, { nodeId: () => incarnation.current()?.id ?? null });
  const assistant = until ? null : startAssistant(services, incarnation);
  const { providers } = input;
  const following = providers.keys.length > 0 ? startFollowing(services, providers, incarnation) : null;
  const duties = until ? null : startDuties(services);
  const loops = [
    ...startWatchOver(services, { incarnation, runs, claimNow: () => consumers.claimNow() }),
    followNode(services, { incarnation, offer, pool, consumers }),
    sharedServers.follow(pool, incarnation),
    startDeliveries(services),
    ...(duties ? [duties] : []),
    ...(until ? [startUntilEmpty(services, { until, offer, pool, runs, consumers, end: stop.end })] : []),
    ...(telegram ? [telegram] : []),
    startOrphanedPrompts(services, pool),
    startReadinessWatch(services, { readiness, incarnation }),
    startAwaiting(services, pool),
    startRepublishing(services, { incarnation, offer, workflows }),
    startAdminRequests(services, {
      incarnation,
      offer,
      pool,
      consumers,
      readiness,
      onRetire: () => stop.end("retired"),
    }),
  ];
  const reason = await stop.requested;
  services.log.info({ reason, runs: runs.leases().length }, "stopping");
  const { signalled } = stop;
  await Promise.all([
    http?.close(),
    shutDownNode(services, {
      incarnation,
      runs,
      consumers,
      signalled,
      othersDone: Promise.all([assistant?.stop(), following?.stop()]),
    }),
  ]);
  await Promise.all(loops.map((loop) => loop.stop()));
  offer.close();
  room.close();
  await pool.stop();
  await Promise.all(engines.map((engine) => engine.close()));
  await jobLogs.close();
  await services.close();
  // `race` takes the first settled promise of the list: a signal, if one came, wins.
  return Promise.race([stop.signalled, stop.requested]);
}

interface Occupation {
  readonly runs: Runs;
  readonly room: ProviderRoom;
}

async function openOffer(
  services: Services,
  input: WorkInput,
  { runs, room }: Occupation,
): Promise<LiveOffer> {
  const { env, config } = services;
  const { engines, pool, workflows, providers } = input;
  const cloud = cloudOfferOf(config, providers.keys);
  await readyGate(services);
  const offer = createLiveOffer({
    env,
    config: input.until ? withOneQueue(config, input.until.queue) : config,
    engines,
    pool,
    workflows,
    machine: await detectMachine(),
    only: parseOnly(env, cloud.models.length > 0 ? [...engines, cloudEngine] : engines),
    cloud,
    runs,
    hasRoom: room.hasRoom,
  });
  const { until } = input;
  if (until && !isGpuQueue(config, until.queue) && offer.current().queues.length === 0)
    throw new AppError("bad_request", `This machine is too small for the queue "${until.queue}".`);
  return offer;
}

export interface LoadedWorkflows {
  /** Of the operator's folder. */
  readonly own: readonly Workflow[];
  /** The built-in ones and `own`. */
  readonly all: () => readonly Workflow[];
  /** Workflows of the operator's folder that were refused, with the reason. */
  readonly problems: readonly NodeProblem[];
}

/** Built-in workflows and those of the operator's folder; an invalid one is refused and the others are used. */
export async function loadWorkflows({
  WORKFLOWS_DIR: dir,
}: Pick<Env, "WORKFLOWS_DIR">): Promise<LoadedWorkflows> {
  if (dir === undefined) return { own: [], all: builtInWorkflows, problems: [] };
  const { workflows: own, problems } = await readWorkflowFolder(dir);
  return {
    own,
    all: () => [...builtInWorkflows(), ...own],
    problems: problems.map(({ name, reason }) => ({ what: name, reason })),
  };
}

/** The first request that the process should stop. */
export interface StopWait {
  /** Resolves with the first cause. */
  readonly requested: Promise<StopCause>;
  /** Resolves with the first signal; the grace time starts then. */
  readonly signalled: Promise<NodeJS.Signals>;
  readonly end: (cause: Exclude<StopCause, NodeJS.Signals>) => void;
}

/** SIGINT, SIGTERM and `end` request the stop; a second signal ends the process at once. */
export function onceStopped(): StopWait {
  const signalled = Promise.withResolvers<NodeJS.Signals>();
  const ended = Promise.withResolvers<Exclude<StopCause, NodeJS.Signals>>();
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    signalled.resolve(signal);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    requested: Promise.race([signalled.promise, ended.promise]),
    signalled: signalled.promise,
    end: ended.resolve,
  };
}

const lingerMs = 2_000;

/**
 * Forces exit after 2 s if something still keeps the event loop alive. This happened once after PostgreSQL had refused
 * connections; the open handle is unknown.
 */
export function endProcess(): void {
  setTimeout(() => process.exit(), lingerMs).unref();
}
