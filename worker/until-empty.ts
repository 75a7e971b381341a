import { isAnyWaiting } from "@atelier/server/jobs";
import { type Config, ConfigError } from "@atelier/server/platform";
import { lateStartMs } from "@atelier/server/scheduling";
import type { Services } from "@atelier/server/services";
import type { Flags } from "./args.ts";
import { type Loop, startLoop } from "./base/loop.ts";
import type { LiveOffer } from "./live-offer.ts";
import type { Runs } from "./runs.ts";

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
  readonly runs: Pick<Runs, "leases">;
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
 * Ends the worker with `empty` when for `waitMs` it ran nothing and no job waited that it could run, and with `unserved` when
 * none of its servers could be used in time: at least ten minutes, or three times the usual start of the queue.
 */
export function startUntilEmpty(
  services: Services,
  { until: { queue, waitMs }, offer, runs, end }: UntilEmptyInput,
): Loop {
  const startedAtMs = performance.now();
  const serverMs = Math.max(leastServerMs, lateStartMs(services.config, queue));
  let idleFromMs = startedAtMs;
  const look = async (): Promise<"busy" | "idle" | "unserved"> => {
    if (runs.leases().length > 0) return "busy";
    const needs = offer.current().queues.flatMap(({ offers }) => offers.map(({ need }) => need));
    if (needs.length === 0) return performance.now() - startedAtMs > serverMs ? "unserved" : "busy";
    return (await isAnyWaiting(services, { queue, needs })) ? "busy" : "idle";
  };
  return startLoop(services.log, "until empty", async () => {
    const seen = await look();
    const nowMs = performance.now();
    if (seen === "unserved") {
      services.log.error({ queue, serverMs }, "no server for the queue answered in time");
      end("unserved");
    }
    if (seen !== "idle") idleFromMs = nowMs;
    else if (nowMs - idleFromMs >= waitMs) {
      services.log.info({ queue }, "nothing is left in the queue");
      end("empty");
    }
    return lookMs;
  });
}
