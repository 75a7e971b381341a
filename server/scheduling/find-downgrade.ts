import type { Db, Tx } from "../db/index.ts";
import { enginesFor, needOf, type EngineName, type JobKind, type Need } from "../engines/index.ts";
import type { Config } from "../platform/index.ts";
import { livePlaces, type LivePlace } from "./places.ts";

export interface DowngradeRequest {
  readonly kind: JobKind;
  readonly engine: EngineName;
  readonly workflow: string | null;
  readonly need: Need;
  readonly queue: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly roles: ReadonlySet<string>;
}

/** A slower or simpler place. */
export interface Downgrade {
  readonly queue: string;
  readonly need: Need;
  readonly engine: EngineName;
  readonly workflow: string | null;
}

/**
 * Where a job goes that no graphics card has the memory for: the same workflow on a CPU queue, else another engine
 * that can do the kind there. Null when nothing alive can.
 */
export async function findDowngrade(
  db: Db | Tx,
  config: Config,
  request: DowngradeRequest,
): Promise<Downgrade | null> {
  const { kind, engine, workflow, need, queue } = request;
  const isCpu = ({ queue: name }: LivePlace) => (config.queues[name]?.minVramGib ?? 0) === 0;
  const live = (await livePlaces(db)).filter(isCpu);
  const same = live.find((place) => place.need === need && place.queue !== queue);
  if (same) return { queue: same.queue, need, engine, workflow };
  for (const other of enginesFor(request).filter((name) => name !== "comfyui" && name !== engine)) {
    const otherNeed = needOf({ engine: other, kind, workflow: null });
    const place = live.find((candidate) => candidate.need === otherNeed);
    if (place) return { queue: place.queue, need: otherNeed, engine: other, workflow: null };
  }
  return null;
}
