import { isAnyWaiting } from "@atelier/server/jobs";
import { type Config, ConfigError } from "@atelier/server/platform";
import { lateStartMs } from "@atelier/server/scheduling";
import type { Services } from "@atelier/server/services";
import type { Flags } from "./args.ts";
import { type Loop, startLoop } from "./base/loop.ts";
import type { Consumers } from "./claims.ts";
import type { LiveOffer } from "./live-offer.ts";
import type { Runs } from "./runs.ts";
import type { ServerPool } from "./servers/index.ts";

/** What a worker that an autoscaler starts works on: one queue, until it had nothing for it for `waitMs`. */
export interface UntilEmpty {
  readonly queue: string;
  readonly waitMs: number;
}

/** What `--once --queue NAME` asks for; undefined for every other worker. Throws `ConfigError` for a queue that is not configured. */
export function untilEmptyOf(config: Config, once: Flags["once"]): UntilEmpty | undefined {
  if (!once || once.queue === null) return undefined;
  const { queue, waitMs } = once;
  if (config.queues[queue]) return { queue, waitMs };
  const known = Object.keys(config.queues).join(", ");
  throw new ConfigError([
    { name: "--queue", message: `There is no queue "${queue}". Configured: ${known}.` },
  ]);
}

interface UntilEmptyInput {
  readonly until: UntilEmpty;
  readonly offer: Pick<LiveOffer, "current">;
  readonly pool: Pick<ServerPool, "list">;
  readonly runs: Pick<Runs, "leases">;
  readonly consumers: Pick<Consumers, "isActive">;
  readonly end: (cause: "empty" | "unserved") => void;
}

const lookMs = 500;
/** A ComfyUI beside the worker may load for minutes before it answers. */
const leastServerMs = 600_000;

/** The configuration of a worker that serves one queue alone. Other rooms keep the whole one. */
export function withOneQueue(config: Config, queue: string): Config {
  const needs = config.queues[queue];
  return { ...config, queues: needs ? { [queue]: needs } : {} };
}

/**
 * Ends the worker with `empty` when for `waitMs` it ran nothing and no job waited that it could run, or it takes no jobs: it
 * is drained, its disk is full, or it does not reach the store. Ends it with `unserved` when nothing could be used for too
 * long: ten minutes, or three times the usual start of the queue if that is longer. While a server of it has not answered
 * yet, it waits for that one as long, if any job waits.
 */
export function startUntilEmpty(services: Services, input: UntilEmptyInput): Loop {
  const { until, offer, runs, consumers, end } = input;
  const { queue, waitMs } = until;
  const startedAtMs = performance.now();
  const serverMs = Math.max(leastServerMs, lateStartMs(services.config, queue));
  const isLoading = createLoading(input.pool);
  let idleFromMs = startedAtMs;
  let unofferedFromMs = startedAtMs;
  const look = async (nowMs: number): Promise<"busy" | "idle" | "unserved"> => {
    const mayLoad = isLoading() && nowMs - startedAtMs <= serverMs;
    const needs = offer.current().queues.flatMap(({ offers }) => offers.map(({ need }) => need));
    const isRunning = runs.leases().length > 0;
    if (needs.length > 0 || isRunning) unofferedFromMs = nowMs;
    if (isRunning) return "busy";
    if (!consumers.isActive()) return "idle";
    if (needs.length === 0) return nowMs - unofferedFromMs > serverMs ? "unserved" : "busy";
    const waiting = { queue, dueWithinMs: waitMs, ...(mayLoad ? {} : { needs }) };
    return (await isAnyWaiting(services, waiting)) ? "busy" : "idle";
  };
  return startLoop(services.log, "until empty", async () => {
    const nowMs = performance.now();
    const seen = await look(nowMs);
    if (seen === "unserved") {
      services.log.error({ queue, serverMs }, "no server for the queue answered in time");
      end("unserved");
    }
    if (seen !== "idle") idleFromMs = nowMs;
    else if (nowMs - idleFromMs >= waitMs) {
      const why = consumers.isActive() ? "nothing is left in the queue" : "this worker may take no jobs";
      services.log.info({ queue }, why);
      end("empty");
    }
    return lookMs;
  });
}

/** Whether a server of the pool has never answered so far; drained ones do not count. */
function createLoading(pool: UntilEmptyInput["pool"]): () => boolean {
  const answered = new Set<string>();
  return () => {
    const servers = pool.list();
    for (const { url, state } of servers) if (state === "healthy" || state === "degraded") answered.add(url);
    return servers.some(({ url, state }) => (state === "unknown" || state === "down") && !answered.has(url));
  };
}
