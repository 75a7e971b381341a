import type { LiveUpdate } from "@atelier/server/api";
import type { QuestionUpdate } from "@atelier/server/assistant";
import type { finalStatuses } from "@atelier/server/db";
import type { JobsUpdate, JobView } from "@atelier/server/jobs";
import { createListeners } from "../ui/listeners.ts";

/** The fields that decide whether the list changes. Other changes notify only the watchers of that job. */
function rowOf({ status, cancelRequested, error, outputs }: JobView): string {
  return JSON.stringify([status, cancelRequested, error, outputs]);
}

function isRowChanged(known: JobView | undefined, job: JobView): boolean {
  return known === undefined || rowOf(known) !== rowOf(job);
}

/** What an accepted update replaced. */
interface Acceptance {
  readonly known: JobView | undefined;
  readonly isRowChanged: boolean;
}

/** How many ended jobs are kept. A batch has at most 200, so all jobs of an open one are among them. */
const keptEnded = 1_000;

/** The newest state of each job; the one that changed last is the last. */
function createJobTable() {
  const jobById = new Map<string, JobView>();
  let list: readonly JobView[] = [];
  return {
    /** Stores the job. null when the stored job has the same or a newer revision. */
    accept(job: JobView): Acceptance | null {
      const known = jobById.get(job.id);
      if (known !== undefined && known.revision >= job.revision) return null;
      jobById.delete(job.id);
      jobById.set(job.id, job);
      return { known, isRowChanged: isRowChanged(known, job) };
    },
    get: (id: string) => jobById.get(id),
    all: (): readonly JobView[] => [...jobById.values()],
    /** Forgets the ended jobs that changed before the last ones and are not watched; returns them. */
    forget(isWatched: (id: string) => boolean): readonly JobView[] {
      const earlier = [...jobById.values()].filter(hasEnded).slice(0, -keptEnded);
      const forgotten = earlier.filter(({ id }) => !isWatched(id));
      for (const { id } of forgotten) jobById.delete(id);
      return forgotten;
    },
    /** Newest first, as of the last `relist`. */
    list: () => list,
    relist() {
      list = [...jobById.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
    },
  };
}

/** Listeners by job id. */
function createListenersById() {
  const listenersById = new Map<string, Set<() => void>>();
  return {
    notify: (id: string) => {
      for (const listener of listenersById.get(id) ?? []) listener();
    },
    isWatched: (id: string) => listenersById.has(id),
    watch: (id: string, listener: () => void) => {
      const listeners = listenersById.get(id) ?? new Set();
      listenersById.set(id, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) listenersById.delete(id);
      };
    },
  };
}

/** The last progress report of a running attempt. */
interface LiveProgress {
  readonly attempt: number;
  readonly progress: number;
  readonly stage: string;
  readonly preview: string | null;
}

export type Connection = "connecting" | "live" | "reconnecting";

/** The whole state of one tab, as plain data that can be sent to another tab. */
export interface LiveState {
  readonly jobs: readonly JobView[];
  readonly progress: readonly (readonly [string, LiveProgress])[];
  readonly connection: Connection;
  /** Time of the last update (ISO 8601), from which a new stream resumes. */
  readonly at: string | null;
}

type ProgressUpdate = Extract<JobsUpdate, { type: "progress" }>;

const endedStatuses: ReadonlySet<string> = new Set([
  "completed",
  "failed",
  "cancelled",
] satisfies typeof finalStatuses);

export function hasEnded(job: Pick<JobView, "status">): boolean {
  return endedStatuses.has(job.status);
}

/** The last progress report of each running attempt. */
function createProgressTable() {
  const progressById = new Map<string, LiveProgress>();
  return {
    /** False when the update is of an earlier attempt, or of a job that has ended or is unknown. */
    accept({ jobId, attempt, progress, stage, preview }: ProgressUpdate, job: JobView | undefined): boolean {
      if (job === undefined || hasEnded(job) || attempt < job.attempt) return false;
      const known = progressById.get(jobId);
      const lastPreview = known?.attempt === attempt ? known.preview : null;
      progressById.set(jobId, { attempt, progress, stage, preview: preview ?? lastPreview });
      return true;
    },
    drop: (jobId: string) => progressById.delete(jobId),
    get: (jobId: string) => progressById.get(jobId),
    entries: (): LiveState["progress"] => [...progressById],
  };
}

/** Ends of before that the first state of a tab may lack, since they became visible late. */
const overlapMs = 5_000;

type Listener = () => void;
type EndListener = (job: JobView) => void;

/** The jobs of the user, as the live stream reports them. Listeners are per job, so that progress renders one row only. */
export interface LiveStore {
  /** An update of the stream. */
  readonly apply: (update: LiveUpdate) => void;
  /** A job that a query returned. */
  readonly put: (job: JobView) => void;
  /** The state of another tab. */
  readonly adopt: (state: LiveState) => void;
  readonly state: () => LiveState;
  readonly setConnection: (connection: Connection) => void;
  readonly job: (id: string) => JobView | undefined;
  readonly progress: (id: string) => LiveProgress | undefined;
  /** Newest first. The same array until a job is added or a field of a row changes. */
  readonly list: () => readonly JobView[];
  readonly connection: () => Connection;
  readonly watchJob: (id: string, listener: Listener) => () => void;
  readonly watchList: (listener: Listener) => () => void;
  /** The listener gets each update about questions to the assistant. */
  readonly onQuestions: (listener: (update: QuestionUpdate) => void) => () => void;
  /** The listener is called once for each job that ends after this store's first state, also one that it never saw open. */
  readonly onEnd: (listener: EndListener) => () => void;
}

/** The tables of jobs and progress, with their listeners. */
function createJobs() {
  const table = createJobTable();
  const progress = createProgressTable();
  const jobListeners = createListenersById();
  const listListeners = createListeners<[]>();
  const endListeners = createListeners<[JobView]>();
  let newsFromMs = Infinity;

  /** True when the list must render again. */
  function accept(job: JobView): boolean {
    const accepted = table.accept(job);
    if (accepted === null) return false;
    const { known, isRowChanged } = accepted;
    if (hasEnded(job) || known?.attempt !== job.attempt) progress.drop(job.id);
    jobListeners.notify(job.id);
    const isNews = known ? !hasEnded(known) : Date.parse(job.endedAt ?? "") > newsFromMs;
    if (isNews && hasEnded(job)) endListeners.notify(job);
    return isRowChanged;
  }

  function acceptAll(changed: readonly JobView[]): void {
    const isListChanged = changed.map(accept).some(Boolean);
    if (!isListChanged) return;
    // A forgotten job that is heard of again, as from another tab, is no news.
    for (const { endedAt } of table.forget(jobListeners.isWatched))
      newsFromMs = Math.max(newsFromMs, Date.parse(endedAt ?? "") || 0);
    table.relist();
    listListeners.notify();
  }

  /** What is accepted from now on may be news; `at` as in `LiveState`. */
  function begin(at: string): void {
    if (newsFromMs === Infinity) newsFromMs = Date.parse(at) - overlapMs;
  }

  function acceptProgress(update: ProgressUpdate): void {
    if (progress.accept(update, table.get(update.jobId))) jobListeners.notify(update.jobId);
  }

  return { table, progress, jobListeners, listListeners, endListeners, begin, acceptAll, acceptProgress };
}

export function createLiveStore(): LiveStore {
  const { table, progress, jobListeners, listListeners, endListeners, begin, acceptAll, acceptProgress } =
    createJobs();
  const questionListeners = createListeners<[QuestionUpdate]>();
  let connection: Connection = "connecting";
  let at: string | null = null;

  function setConnection(next: Connection): void {
    if (next === connection) return;
    connection = next;
    listListeners.notify();
  }

  return {
    apply(update) {
      if (update.type === "progress") return acceptProgress(update);
      if (update.type === "runs" || update.type === "answer") return questionListeners.notify(update);
      at = update.at;
      // They come newest first.
      if (update.type !== "alive") acceptAll(update.jobs.toReversed());
      begin(at);
    },
    put: (job) => acceptAll([job]),
    adopt(state) {
      acceptAll(state.jobs);
      for (const [jobId, live] of state.progress) acceptProgress({ type: "progress", jobId, ...live });
      at = state.at ?? at;
      if (at !== null) begin(at);
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
    onQuestions: questionListeners.watch,
    onEnd: endListeners.watch,
  };
}

/** The store of this tab. */
export const live = createLiveStore();
