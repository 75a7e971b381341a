import { jobStatuses } from "@atelier/server/db";
import type { JobView } from "@atelier/server/jobs";
import { expect, test } from "vitest";
import { countOpen } from "./tray.tsx";

test("jobs that wait for a worker are not counted as running, and ended ones not at all", () => {
  // Safe cast: the counts read the status alone.
  const jobs = [...jobStatuses, "pending"].map((status) => ({ status })) as JobView[];
  expect(countOpen(jobs)).toEqual({ running: 2, waiting: 3 });
  expect(countOpen(jobs.slice(-1))).toEqual({ running: 0, waiting: 1 });
  expect(countOpen([])).toEqual({ running: 0, waiting: 0 });
});
