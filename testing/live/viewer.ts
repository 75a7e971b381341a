import type { JobView } from "@atelier/server/jobs";
import { createLiveStore, type LiveStore } from "../../app/live/store.ts";
import { keepStream } from "../../app/live/stream.ts";
import { watchJobs } from "./watch-jobs.ts";

/** What one browser sees, with the app's own store and reopening, and what was wrong with it. */
export interface Viewer {
  readonly store: LiveStore;
  /** How many streams have brought it something. */
  streams(): number;
  /** Every job that it was ever told of. */
  seen(): string[];
  /** One line for each revision that was older than one it had been told before. */
  readonly stepsBack: readonly string[];
  close(): void;
}

export function openViewer(port: number, cookie: string): Viewer {
  const store = createLiveStore();
  const stepsBack: string[] = [];
  const revisions = new Map<string, number>();
  let streams = 0;
  const check = ({ id, revision }: JobView) => {
    const last = revisions.get(id) ?? 0;
    if (revision < last) stepsBack.push(`${id} went back from revision ${last} to ${revision}`);
    revisions.set(id, revision);
  };
  const close = keepStream({
    open: watchJobs(port, cookie),
    since: () => store.state().at,
    onOpen: () => undefined,
    onLost: () => undefined,
    onUpdate: (update) => {
      if (update.type === "snapshot") streams += 1;
      if (update.type === "snapshot" || update.type === "jobs") update.jobs.forEach(check);
      store.apply(update);
    },
  });
  return { store, stepsBack, seen: () => [...revisions.keys()], streams: () => streams, close };
}
