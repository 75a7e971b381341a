import type { JobView } from "@atelier/server/jobs";
import { expect, test } from "vitest";
import { withLive } from "./jobs-list.tsx";

function job(id: string, revision: number, status: JobView["status"]): JobView {
  return { id, revision, status, kind: "upscale" } as JobView;
}

test("a newer state of a listed job replaces the older one", () => {
  const shown = withLive([job("b", 1, "processing")], [job("b", 2, "completed")], {});
  expect(shown.map(({ revision }) => revision)).toEqual([2]);
});

test("a job that ended leaves the list of open ones, and a new one stands on top", () => {
  const shown = withLive(
    [job("b", 1, "processing"), job("a", 1, "processing")],
    [job("c", 1, "pending"), job("b", 2, "completed")],
    { status: "open" },
  );
  expect(shown.map(({ id }) => id)).toEqual(["c", "a"]);
});

test("an older job that the list has not loaded yet does not appear out of its place", () => {
  expect(withLive([job("b", 1, "completed")], [job("a", 5, "failed")], {})).toHaveLength(1);
});
