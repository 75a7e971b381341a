import { sql } from "drizzle-orm";
import { ago, openStatuses, schema } from "../db/index.ts";
import { firstRowsFrom, type LiveSource, type Mark, type Row } from "../live/index.ts";
import type { LiveProgress } from "../queue/index.ts";
import type { Services } from "../services.ts";
import { type JobsUpdate, type JobView, loadRows } from "./read.ts";

type ProgressUpdate = Extract<JobsUpdate, { type: "progress" }>;

const firstLookBackMs = 10 * 60_000;
const mostFirst = 1_000;

/** Jobs as a source of the live feed. */
export const jobSource: LiveSource<JobView, JobsUpdate> = {
  name: "jobs",
  restMs: 0,
  liveEndsWithRevision: false,
  hinted: (message) =>
    message.type === "jobs"
      ? message.jobs.map(({ jobId, ownerId, revision }) => ({ id: jobId, ownerId, revision }))
      : [],
  liveOf: (message) =>
    message.type === "progress" ? { id: message.progress.jobId, update: toProgress(message.progress) } : null,
  joinLive: (last, next) =>
    last.type === "progress" && next.type === "progress" ? withLastPreview(next, last) : next,
  async readMarks({ db }, { ownerIds, withinMs }) {
    const result = await db.execute<Omit<Mark, "detail"> & Record<string, unknown>>(sql`
      select id, revision, owner_id as "ownerId", status = 'processing' as "isActive"
      from ${schema.jobs} where owner_id in ${[...ownerIds]}
        and (status in ${[...openStatuses]} or ended_at > ${ago(withinMs)})`);
    return result.map((row) => ({ ...row, detail: "" }));
  },
  async readRows({ db }, ids) {
    const loaded = await loadRows(db, sql`jobs.id in ${[...ids]}`);
    const at = new Date(loaded[0]?.readAtMs ?? 0).toISOString();
    return { rows: loaded.map(toRow), at };
  },
  async readFirst({ db }, { ownerId, since }) {
    const from = firstRowsFrom(since, firstLookBackMs);
    const isShown = sql`jobs.owner_id = ${ownerId} and (jobs.status in ${[...openStatuses]} or jobs.ended_at > ${from})`;
    const loaded = await loadRows(db, isShown, sql`order by jobs.id desc limit ${mostFirst}`);
    return loaded.map(toRow);
  },
  toUpdate: (jobs, at, kind) => ({ type: kind === "first" ? "snapshot" : "jobs", jobs, at }),
  openRequests,
};

function toRow({ ownerId, view }: { readonly ownerId: string; readonly view: JobView }): Row<JobView> {
  const { id, revision, status } = view;
  return { mark: { id, ownerId, revision, detail: "", isActive: status === "processing" }, view };
}

function toProgress({ jobId, attempt, progress, stage, preview }: LiveProgress): ProgressUpdate {
  return {
    type: "progress",
    jobId,
    attempt,
    progress,
    stage,
    preview: preview ? `data:image/jpeg;base64,${preview}` : null,
  };
}

/** Workers send a preview once; it stays valid for later progress of the same attempt until the next preview. */
function withLastPreview(update: ProgressUpdate, last: ProgressUpdate): ProgressUpdate {
  return last.attempt === update.attempt && update.preview === null
    ? { ...update, preview: last.preview }
    : update;
}

/** Workers treat a job as watched for three times this long. */
const askAgainMs = 2_000;

/** Publishes which jobs are watched: at once for a new one, then every two seconds. */
function openRequests({ hints }: Services): (ids: readonly string[]) => void {
  const askedAtMs = new Map<string, number>();
  return (watched) => {
    const nowMs = performance.now();
    const ids = new Set(watched);
    for (const id of askedAtMs.keys()) if (!ids.has(id)) askedAtMs.delete(id);
    const unknown = [...ids].filter((id) => !askedAtMs.has(id));
    const due = [...ids].filter((id) => nowMs - (askedAtMs.get(id) ?? nowMs) >= askAgainMs);
    for (const id of [...unknown, ...due]) askedAtMs.set(id, nowMs);
    if (unknown.length > 0) hints.publish({ type: "watched", jobIds: unknown, wantsLatest: true });
    if (due.length > 0) hints.publish({ type: "watched", jobIds: due, wantsLatest: false });
  };
}
