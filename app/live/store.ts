import type { JobsUpdate, JobView } from "@atelier/server/jobs";
import { createJobTable } from "./job-table.ts";
import { createListeners, createListenersById } from "./listeners.ts";
import {
  hasEnded,
  type Connection,
  type LiveProgress,
  type LiveState,
  type ProgressUpdate,
} from "./live-state.ts";
import { createProgressTable } from "./progress-table.ts";

type Listener = () => void;
type EndListener = (job: JobView) => void;

/** Jobs of this browser's user as they change. One listener per job, so that a tick of progress renders one row. */
export interface LiveStore {
  readonly apply: (update: JobsUpdate) => void;
  readonly put: (job: JobView) => void;
  readonly adopt: (state: LiveState) => void;
  readonly state: () => LiveState;
  readonly setConnection: (connection: Connection) => void;
  readonly job: (id: string) => JobView | undefined;
  readonly progress: (id: string) => LiveProgress | undefined;
  /** Newest first; the same array until a job comes or what its row shows changes. */
  readonly list: () => readonly JobView[];
  readonly connection: () => Connection;
  readonly watchJob: (id: string, listener: Listener) => () => void;
  readonly watchList: (listener: Listener) => () => void;
  /** Called once for each job that was seen open and then ended. */
  readonly onEnd: (listener: EndListener) => () => void;
}

/** The tables and who watches them. */
function createJobs() {
  const table = createJobTable();
  const progress = createProgressTable();
  const jobListeners = createListenersById();
  const listListeners = createListeners<[]>();
  const endListeners = createListeners<[JobView]>();

  /** True when the list must be drawn anew. */
  function accept(job: JobView): boolean {
    const accepted = table.accept(job);
    if (accepted === null) return false;
    const { known, changesRow } = accepted;
    if (hasEnded(job) || known?.attempt !== job.attempt) progress.drop(job.id);
    jobListeners.tell(job.id);
    if (known !== undefined && !hasEnded(known) && hasEnded(job)) endListeners.tell(job);
    return changesRow;
  }

  function acceptAll(changed: readonly JobView[]): void {
    const redraw = changed.map(accept).some(Boolean);
    if (!redraw) return;
    table.relist();
    listListeners.tell();
  }

  function acceptProgress(update: ProgressUpdate): void {
    if (progress.accept(update, table.get(update.jobId))) jobListeners.tell(update.jobId);
  }

  return { table, progress, jobListeners, listListeners, endListeners, acceptAll, acceptProgress };
}

export function createLiveStore(): LiveStore {
  const { table, progress, jobListeners, listListeners, endListeners, acceptAll, acceptProgress } =
    createJobs();
  let connection: Connection = "connecting";
  let at: string | null = null;

  function setConnection(next: Connection): void {
    if (next === connection) return;
    connection = next;
    listListeners.tell();
  }

  return {
    apply(update) {
      if (update.type === "progress") return acceptProgress(update);
      at = update.at;
      if (update.type !== "alive") acceptAll(update.jobs);
    },
    put: (job) => acceptAll([job]),
    adopt(state) {
      acceptAll(state.jobs);
      for (const [jobId, live] of state.progress) acceptProgress({ type: "progress", jobId, ...live });
      at = state.at ?? at;
      setConnection(state.connection);
    },
    state: () => ({ jobs: table.all(), progress: progress.entries(), connection, at }),
    setConnection,
    job: table.get,
    progress: progress.get,
    list: table.list,
    connection: () => connection,
    watchJob: jobListeners.watch,
    watchList: listListeners.watch,
    onEnd: endListeners.watch,
  };
}
