import type { JobsUpdate, JobView } from "@atelier/server/jobs";
import { expect, test, vi } from "vitest";
import { createLiveStore, type LiveStore } from "./store.ts";

const at = "2026-01-01T00:00:00.000Z";

function jobAt(revision: number, changes: Partial<JobView> = {}): JobView {
  return {
    id: "job",
    model: null,
    ownOnly: false,
    kind: "upscale",
    status: "processing",
    progress: 0,
    stage: null,
    tier: "normal",
    revision,
    attempt: 1,
    engine: "local",
    workflow: null,
    need: "local/upscale",
    server: null,
    executedBy: null,
    placement: null,
    estimate: null,
    charged: 0,
    notBefore: null,
    queue: "cpu-light",
    node: null,
    retention: "keep",
    params: {},
    template: null,
    error: null,
    cancelRequested: false,
    retryOf: null,
    maxRetries: null,
    sessionId: null,
    metadata: {},
    requestId: null,
    inputs: [],
    outputs: [],
    createdAt: at,
    queuedAt: null,
    claimedAt: null,
    startedAt: null,
    endedAt: null,
    processingMs: null,
    ...changes,
  };
}

const jobsUpdate = (...jobs: JobView[]): JobsUpdate => ({ type: "jobs", jobs, at });
const progress = (attempt: number, fraction: number): JobsUpdate => ({
  type: "progress",
  jobId: "job",
  attempt,
  progress: fraction,
  stage: "upscaling",
  preview: null,
});

test("D7 whatever is not newer is dropped, in snapshots, updates and answers alike", () => {
  const store = createLiveStore();
  store.apply(jobsUpdate(jobAt(5, { status: "completed" })));
  store.apply(jobsUpdate(jobAt(4)));
  store.apply({ type: "snapshot", jobs: [jobAt(3)], at });
  store.put(jobAt(2));
  store.adopt({ jobs: [jobAt(4)], progress: [], connection: "live", at });
  expect(store.job("job")).toMatchObject({ revision: 5, status: "completed" });
});

test("D7 an end is told once, however often it is heard of", () => {
  const store = createLiveStore();
  const onEnd = vi.fn<(job: JobView) => void>();
  store.onEnd(onEnd);
  store.apply(jobsUpdate(jobAt(4)));
  for (let time = 0; time < 3; time += 1) store.apply(jobsUpdate(jobAt(5, { status: "failed" })));
  expect(onEnd).toHaveBeenCalledTimes(1);
});

test("D7 a job that is first seen as ended is an end, one that ended before the tab is none", () => {
  const told = (store: LiveStore) => {
    const ids: string[] = [];
    store.onEnd(({ id }) => ids.push(id));
    return ids;
  };
  const ended = (id: string, endedAt: string) => jobAt(5, { id, status: "completed", endedAt });
  const store = createLiveStore();
  const ids = told(store);
  store.apply({ type: "snapshot", jobs: [ended("just before", at)], at });
  store.apply(jobsUpdate(ended("late", at)));
  store.apply(jobsUpdate(ended("old", "2025-12-31T23:59:00.000Z")));
  store.put(ended("asked for", "2026-11-01T00:00:00.000Z"));
  // In a gap of the stream.
  store.apply({ type: "snapshot", jobs: [ended("missed", "2026-11-01T00:00:01.000Z")], at });
  store.apply({ type: "snapshot", jobs: [ended("missed", "2026-11-01T00:00:01.000Z")], at });
  expect(ids).toEqual(["late", "asked for", "missed"]);

  const other = createLiveStore();
  const othersIds = told(other);
  other.adopt({ jobs: [], progress: [], connection: "connecting", at: null });
  other.adopt(store.state());
  expect(othersIds).toEqual([]);
  store.apply(jobsUpdate(ended("later", "2026-11-01T00:00:02.000Z")));
  other.adopt(store.state());
  expect(othersIds).toEqual(["later"]);
});

const endedAt = (number: number) => new Date(Date.parse(at) + number * 1_000).toISOString();
const endedJob = (number: number, changes: Partial<JobView> = {}) =>
  jobAt(5, {
    id: `job ${String(number).padStart(5, "0")}`,
    status: "completed",
    endedAt: endedAt(number),
    ...changes,
  });
const idsOf = (jobs: readonly JobView[]) => jobs.map(({ id }) => id);

test("a tab of weeks keeps the jobs that are open or shown, and of the others those that ended last", () => {
  const store = createLiveStore();
  const unwatch = store.watchJob(endedJob(1).id, () => undefined);
  store.apply({ type: "snapshot", jobs: [jobAt(1, { id: "open" })], at });
  for (let number = 0; number < 5_000; number += 1) store.apply(jobsUpdate(endedJob(number)));
  const newest = Array.from({ length: 1_000 }, (_, place) => endedJob(4_999 - place).id);
  expect(idsOf(store.list())).toEqual(["open", ...newest, endedJob(1).id]);
  expect(idsOf(store.state().jobs)).toHaveLength(1_002);
  expect(store.job(endedJob(0).id)).toBeUndefined();
  unwatch();
  // A job that has just changed is kept, however old it is.
  store.apply(jobsUpdate(endedJob(4_000, { revision: 6, cancelRequested: true })));
  for (let number = 5_000; number < 5_999; number += 1) store.apply(jobsUpdate(endedJob(number)));
  expect(store.job(endedJob(1).id)).toBeUndefined();
  expect(idsOf(store.list()).slice(-2)).toEqual([endedJob(5_000).id, endedJob(4_000).id]);
});

test("of the jobs that were there at first the earliest is forgotten first", () => {
  const store = createLiveStore();
  const first = Array.from({ length: 1_000 }, (_, place) => endedJob(999 - place));
  store.apply({ type: "snapshot", jobs: first, at });
  store.apply(jobsUpdate(endedJob(1_000)));
  expect(idsOf(store.list())).toEqual(idsOf([endedJob(1_000), ...first.slice(0, -1)]));
});

test("D7 a job that was forgotten is no end again, whoever tells of it; a later one is", () => {
  const store = createLiveStore();
  const ids: string[] = [];
  store.onEnd(({ id }) => ids.push(id));
  store.apply({ type: "snapshot", jobs: [], at });
  const all = Array.from({ length: 1_500 }, (_, number) => endedJob(number));
  const other = createLiveStore();
  for (const job of all.slice(0, 900)) other.apply(jobsUpdate(job));
  for (const job of all) store.apply(jobsUpdate(job));
  expect(ids).toEqual(idsOf(all));
  ids.length = 0;
  store.put(endedJob(3));
  store.apply({ type: "snapshot", jobs: all.slice(0, 600), at });
  store.adopt(other.state());
  expect(ids).toEqual([]);
  store.apply(jobsUpdate(endedJob(9_000)));
  expect(ids).toEqual([endedJob(9_000).id]);
  expect(store.list()).toHaveLength(1_000);
});

test("D7 progress of an earlier try or of an ended job is not shown", () => {
  const store = createLiveStore();
  store.apply(jobsUpdate(jobAt(8, { attempt: 2 })));
  store.apply(progress(1, 0.9));
  expect(store.progress("job")).toBeUndefined();
  store.apply(progress(2, 0.4));
  expect(store.progress("job")).toMatchObject({ progress: 0.4 });
  store.apply(jobsUpdate(jobAt(9, { attempt: 3 })));
  expect(store.progress("job")).toBeUndefined();
  store.apply(jobsUpdate(jobAt(10, { attempt: 3, status: "completed" })));
  store.apply(progress(3, 0.5));
  expect(store.progress("job")).toBeUndefined();
});

test("a request to cancel draws the list anew, though the status stays; mere progress does not", () => {
  const store = createLiveStore();
  const onList = vi.fn<() => void>();
  store.watchList(onList);
  store.apply(jobsUpdate(jobAt(4)));
  store.apply(jobsUpdate(jobAt(5, { stage: "upscaling", progress: 0.5 })));
  expect(onList).toHaveBeenCalledTimes(1);
  store.apply(jobsUpdate(jobAt(6, { cancelRequested: true })));
  expect(onList).toHaveBeenCalledTimes(2);
  expect(store.list()).toEqual([expect.objectContaining({ revision: 6, cancelRequested: true })]);
});

test("F33 a new stream resumes at the last moment that an update told of", () => {
  const store = createLiveStore();
  expect(store.state().at).toBeNull();
  store.apply({ type: "snapshot", jobs: [], at });
  store.apply(progress(1, 0.1));
  expect(store.state().at).toBe(at);
  store.apply({ type: "alive", at: "2026-01-01T00:00:10.000Z" });
  expect(store.state().at).toBe("2026-01-01T00:00:10.000Z");
});
