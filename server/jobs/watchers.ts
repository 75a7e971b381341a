import type { JobsUpdate } from "./read.ts";

/** A letter of the live feed: changed jobs, or progress between two revisions. */
export type FeedUpdate = Extract<JobsUpdate, { type: "jobs" | "progress" }>;

/** A reader of the jobs of one owner. */
export interface Watcher {
  readonly ownerId: string;
  /** Previews are only made while a reader of progress is connected. */
  readonly reads: "jobs" | "jobs_and_progress";
  push(update: FeedUpdate): void;
}

/** The watchers of a process by owner. */
export interface Watchers {
  add(watcher: Watcher): void;
  remove(watcher: Watcher): void;
  has(ownerId: string): boolean;
  /** Whether progress of this owner's jobs is shown to someone. */
  readsProgress(ownerId: string): boolean;
  ownerIds(): string[];
  tell(ownerId: string, update: FeedUpdate): void;
}

export function createWatchers(): Watchers {
  const byOwner = new Map<string, Set<Watcher>>();
  const readsProgress = (watcher: Watcher) => watcher.reads === "jobs_and_progress";
  return {
    add(watcher) {
      const own = byOwner.get(watcher.ownerId) ?? new Set();
      byOwner.set(watcher.ownerId, own.add(watcher));
    },
    remove(watcher) {
      const own = byOwner.get(watcher.ownerId);
      own?.delete(watcher);
      if (own?.size === 0) byOwner.delete(watcher.ownerId);
    },
    has: (ownerId) => byOwner.has(ownerId),
    readsProgress: (ownerId) => [...(byOwner.get(ownerId) ?? [])].some(readsProgress),
    ownerIds: () => [...byOwner.keys()],
    tell(ownerId, update) {
      for (const watcher of byOwner.get(ownerId) ?? [])
        if (update.type === "jobs" || readsProgress(watcher)) watcher.push(update);
    },
  };
}
