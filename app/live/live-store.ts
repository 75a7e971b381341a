import type { JobsUpdate, JobView } from "@atelier/server/jobs";
import {
  hasEnded,
  type Connection,
  type LiveProgress,
  type LiveState,
  type ProgressUpdate,
} from "./live-state.ts";

type Listener = () => void;
type EndListener = (job: JobView) => void;

/** Jobs of this browser's user as they change. One listener per job, so that a tick of progress renders one row. */
export interface LiveStore {
  readonly apply: (update: JobsUpdate) => void;
  readonly put: (job: JobView) => void;
  readonly forget: (ids: readonly string[]) => void;
  readonly adopt: (state: LiveState) => void;
  readonly state: () => LiveState;
  readonly setConnection: (connection: Connection) => void;
  readonly job: (id: string) => JobView | undefined;
  readonly progress: (id: string) => LiveProgress | undefined;
  /** Newest first; the same array until a job comes, goes or changes its status. */
  readonly list: () => readonly JobView[];
  readonly connection: () => Connection;
  readonly watchJob: (id: string, listener: Listener) => () => void;
  readonly watchList: (listener: Listener) => () => void;
  /** Called once for each job that was seen open and then ended. */
  readonly onEnd: (listener: EndListener) => () => void;
}

export function createLiveStore(): LiveStore {
  const jobs = new Map<string, JobView>();
  const progressById = new Map<string, LiveProgress>();
  const jobListeners = new Map<string, Set<Listener>>();
  const listListeners = new Set<Listener>();
  const endListeners = new Set<EndListener>();
  let connection: Connection = "connecting";
  let at: string | null = null;
  let list: readonly JobView[] = [];

  const tell = (listeners: Iterable<Listener> | undefined) => {
    for (const listener of listeners ?? []) listener();
  };
  const relist = () => {
    list = [...jobs.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
    tell(listListeners);
  };

  /** True when the list must be drawn anew. */
  function accept(job: JobView): boolean {
    const known = jobs.get(job.id);
    if (known !== undefined && known.revision >= job.revision) return false;
    jobs.set(job.id, job);
    if (hasEnded(job) || known?.attempt !== job.attempt) progressById.delete(job.id);
    tell(jobListeners.get(job.id));
    if (known !== undefined && !hasEnded(known) && hasEnded(job)) {
      for (const listener of endListeners) listener(job);
    }
    return known?.status !== job.status;
  }

  function acceptAll(changed: readonly JobView[]): void {
    const redraw = changed.map(accept).some(Boolean);
    if (redraw) relist();
  }

  function acceptProgress(update: ProgressUpdate): void {
    const job = jobs.get(update.jobId);
    if (job === undefined || hasEnded(job) || update.attempt < job.attempt) return;
    const known = progressById.get(update.jobId);
    const preview = update.preview ?? (known?.attempt === update.attempt ? known.preview : null);
    progressById.set(update.jobId, {
      attempt: update.attempt,
      progress: update.progress,
      stage: update.stage,
      preview,
    });
    tell(jobListeners.get(update.jobId));
  }

  function apply(update: JobsUpdate): void {
    if (update.type === "progress") {
      acceptProgress(update);
      return;
    }
    at = update.at;
    if (update.type !== "alive") acceptAll(update.jobs);
  }

  return {
    apply,
    put: (job) => acceptAll([job]),
    forget(ids) {
      for (const id of ids) jobs.delete(id);
      relist();
    },
    adopt(state) {
      acceptAll(state.jobs);
      for (const [jobId, live] of state.progress) acceptProgress({ type: "progress", jobId, ...live });
      at = state.at ?? at;
      connection = state.connection;
      tell(listListeners);
    },
    state: () => ({ jobs: [...jobs.values()], progress: [...progressById], connection, at }),
    setConnection(next) {
      if (next === connection) return;
      connection = next;
      tell(listListeners);
    },
    job: (id) => jobs.get(id),
    progress: (id) => progressById.get(id),
    list: () => list,
    connection: () => connection,
    watchJob(id, listener) {
      const listeners = jobListeners.get(id) ?? new Set();
      jobListeners.set(id, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) jobListeners.delete(id);
      };
    },
    watchList(listener) {
      listListeners.add(listener);
      return () => listListeners.delete(listener);
    },
    onEnd(listener) {
      endListeners.add(listener);
      return () => endListeners.delete(listener);
    },
  };
}
