import { expect, test } from "vitest";
import type { BatchWithJobs } from "@atelier/server/batches";
import type { JobView } from "@atelier/server/jobs";
import { hasSuccessor, withLiveJobs } from "./batch.ts";

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
