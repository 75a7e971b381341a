import os from "node:os";
import type { NodeCapability } from "@atelier/server/db";
import type { JobKind } from "@atelier/server/engines";
import { AppError, type Config, type Env } from "@atelier/server/platform";
import { queueForMachine } from "@atelier/server/queue";
import type { Engine } from "./engines/index.ts";

export interface NodeOffer {
  readonly capability: NodeCapability;
  readonly queue: string;
  readonly slots: number;
}

const coresPerRun = 2;

/** What this machine offers: the kinds of its engines (or those that it is narrowed to) and its slots. */
export function detectOffer(env: Env, config: Config, engines: readonly Engine[]): NodeOffer {
  const cores = os.availableParallelism();
  const memoryBytes = os.totalmem();
  const queue = queueForMachine(config, { cores, memoryBytes });
  if (!queue) throw new AppError("bad_request", "This machine satisfies no queue of the configuration.");
  return {
    capability: {
      cores,
      memoryBytes,
      kinds: offeredKinds(env, engines),
      engines: engines.map((engine) => engine.name),
    },
    queue,
    slots: env.WORKER_CPU_SLOTS ?? Math.max(1, Math.floor(cores / coresPerRun)),
  };
}

function offeredKinds(env: Env, engines: readonly Engine[]): JobKind[] {
  const known = [...new Set(engines.flatMap((engine) => engine.kinds))];
  if (env.WORKER_ONLY.length === 0) return known;
  const unknown = env.WORKER_ONLY.filter((name) => !known.some((kind) => kind === name));
  if (unknown.length > 0) {
    throw new AppError(
      "bad_request",
      `WORKER_ONLY names kinds that no engine here can run: ${unknown.join(", ")}. Known: ${known.join(", ")}.`,
    );
  }
  return known.filter((kind) => env.WORKER_ONLY.includes(kind));
}
