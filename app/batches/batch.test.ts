import { expect, test } from "vitest";
import type { BatchWithJobs } from "@atelier/server/batches";
import type { JobView } from "@atelier/server/jobs";
import { hasSuccessor, isCancelling, withLiveJobs } from "./batch.ts";

// Safe cast: of a job the functions read these members alone.
const job = (id: string, status: JobView["status"], revision: number, more: Partial<JobView> = {}) =>
  ({ id, status, revision, progress: 0, retryOf: null, ...more }) as JobView;

const counts = { waiting: 2, running: 0, completed: 0, failed: 0, cancelled: 0, removed: 1 };
const batch: BatchWithJobs = {
  id: "batch",
  title: null,
  axes: null,
  size: 3,
  status: "open",
  counts,
  progress: 0,
  maxPriceUsd: 0,
  createdAt: "",
  endedAt: null,
  jobs: [job("a", "pending", 1), job("b", "queued", 5), null].map((own, position) => ({
    position,
    values: {},
    job: own,
    steps: null,
  })),
};

test("a batch shows what the stream has told of its jobs since, and nothing older", () => {
  const live = [job("a", "processing", 3, { progress: 0.5 }), job("b", "pending", 4), job("c", "queued", 1)];
  expect(withLiveJobs(batch, live)).toMatchObject({
    status: "open",
    counts: { waiting: 1, running: 1, removed: 1 },
    progress: 0.5,
    jobs: [{ job: { status: "processing" } }, { job: { status: "queued" } }, { job: null }],
  });
  const ended = withLiveJobs(batch, [job("a", "completed", 9), job("b", "failed", 9)]);
  expect(ended).toMatchObject({ status: "ended", progress: 1, counts: { completed: 1, failed: 1 } });
});

test("a batch is read again when a job runs in the place of one of its own", () => {
  expect(hasSuccessor(batch, [job("c", "queued", 1), job("d", "queued", 1, { retryOf: "c" })])).toBe(false);
  expect(hasSuccessor(batch, [job("c", "queued", 1, { retryOf: "b" })])).toBe(true);
});

test("a place waits while a step is to come, and has failed where one was refused", () => {
  const steps = { count: 2, begun: 1, before: ["x"], stopped: null };
  const done = job("a", "completed", 9, { progress: 1 });
  const at = (place: Partial<BatchWithJobs["jobs"][number]>) =>
    withLiveJobs({ ...batch, size: 1, jobs: [{ position: 0, values: {}, job: done, steps, ...place }] }, []);
  expect(at({})).toMatchObject({ status: "open", counts: { waiting: 1 }, progress: 2 / 3 });
  expect(at({ steps: { ...steps, begun: 2 } })).toMatchObject({ status: "ended", counts: { completed: 1 } });
  const stopped = { code: "not_agreed", message: "dearer" };
  expect(at({ steps: { ...steps, stopped } })).toMatchObject({ status: "ended", counts: { failed: 1 } });
  expect(at({ job: job("b", "processing", 1, { progress: 0.5 }) }).progress).toBe(0.5);
});

test("a batch is cancelling when all that is open was asked to stop, and never between two jobs", () => {
  const steps = { count: 1, begun: 0, before: [], stopped: null };
  const place = (own: JobView, more: object = {}) => ({
    position: 0,
    values: {},
    job: own,
    steps: null,
    ...more,
  });
  const asked = place(job("a", "processing", 1, { cancelRequested: true }));
  const done = job("b", "completed", 9, { cancelRequested: false });
  expect(isCancelling([asked, place(done)])).toBe(true);
  expect(isCancelling([asked, place(done, { steps })])).toBe(false);
  expect(isCancelling([asked, place(job("c", "pending", 1, { cancelRequested: false }))])).toBe(false);
  expect(isCancelling([place(done)])).toBe(false);
});
