import { and, gt, inArray, or, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { isOpen } from "./run.ts";

const { assistantRuns, proposals } = schema;

/** One look of this process at the runs of all owners whose streams are open, for changes whose notice was lost. */
export interface RunLooks {
  /** Calls `onChange` when a run of the owner has changed; the returned function ends it. */
  add(ownerId: string, onChange: () => void): () => void;
  /** Looks soon: a notice tells that a run is open. */
  soon(): void;
}

const looksByServices = new WeakMap<Services, RunLooks>();

export function runLooksOf(services: Services): RunLooks {
  const looks = looksByServices.get(services) ?? createRunLooks(services);
  looksByServices.set(services, looks);
  return looks;
}

/** Streams begin with runs that ended at most this long ago. */
export const lookBackMs = 10 * 60_000;
/** While a run is open: a lost notice costs this long. */
const lookMs = 1_000;
const idleLookMs = 15_000;
/** After a stream began: notices before the connection for them is made are lost. */
const settleMs = 10_000;

interface Look {
  readonly ownerId: string;
  /** Changes with each change that a stream tells of. */
  readonly mark: string;
  readonly isBusy: boolean;
}

async function lookAt({ db }: Services, ownerIds: readonly string[]): Promise<Look[]> {
  const states = sql`(select string_agg(p.state, ',' order by p.id) from ${proposals} p where p.run_id = ${assistantRuns.id})`;
  const mark = sql`concat_ws(' ', ${assistantRuns.id}, ${assistantRuns.revision}, length(${assistantRuns.answer}), jsonb_array_length(${assistantRuns.parts}), ${states})`;
  const since = new Date(Date.now() - lookBackMs);
  return db
    .select({
      ownerId: assistantRuns.ownerId,
      mark: sql<string>`string_agg(${mark}, ';' order by ${assistantRuns.id})`,
      isBusy: sql<boolean>`bool_or(${isOpen})`,
    })
    .from(assistantRuns)
    .where(and(inArray(assistantRuns.ownerId, [...ownerIds]), or(isOpen, gt(assistantRuns.endedAt, since))))
    .groupBy(assistantRuns.ownerId);
}

function createRunLooks(services: Services): RunLooks {
  const watchers = new Map<string, Set<() => void>>();
  const marks = new Map<string, string>();
  let timer: NodeJS.Timeout | null = null;
  let dueAtMs = Infinity;
  let settledAtMs = 0;
  let isLooking = false;

  const plan = (waitMs: number) => {
    const atMs = performance.now() + waitMs;
    if (timer !== null && dueAtMs <= atMs) return;
    if (timer !== null) clearTimeout(timer);
    dueAtMs = atMs;
    timer = setTimeout(() => void look(), waitMs).unref();
  };
  const look = async () => {
    timer = null;
    if (watchers.size === 0) return;
    // One at a time, also where the database is slow.
    if (isLooking) return plan(lookMs);
    isLooking = true;
    try {
      const found = await lookAt(services, [...watchers.keys()]);
      tellChanged(found);
      const isBusy = performance.now() < settledAtMs || found.some((one) => one.isBusy);
      plan(isBusy ? lookMs : idleLookMs);
    } catch (error) {
      services.log.warn({ err: error }, "the look at runs of the assistant failed");
      plan(lookMs);
    } finally {
      isLooking = false;
    }
  };
  const tellChanged = (found: readonly Look[]) => {
    const markOf = new Map(found.map(({ ownerId, mark }) => [ownerId, mark]));
    for (const [ownerId, listeners] of watchers) {
      const mark = markOf.get(ownerId) ?? "";
      // A stream has read for itself, so without a run there is nothing to tell.
      if ((marks.get(ownerId) ?? "") === mark) continue;
      marks.set(ownerId, mark);
      for (const tell of listeners) tell();
    }
  };
  return {
    add(ownerId, onChange) {
      watchers.set(ownerId, (watchers.get(ownerId) ?? new Set()).add(onChange));
      settledAtMs = performance.now() + settleMs;
      plan(lookMs);
      return () => {
        const own = watchers.get(ownerId);
        own?.delete(onChange);
        if (own?.size !== 0) return;
        watchers.delete(ownerId);
        marks.delete(ownerId);
      };
    },
    soon: () => plan(lookMs),
  };
}
