import { expect, test } from "vitest";
import { retryHelps } from "./retry-helps.ts";

test("what was refused for its content is not offered again", () => {
  for (const code of ["garment_unsuitable", "upload_unreadable", "bad_request", "mask_empty"]) {
    expect(retryHelps(code)).toBe(false);
  }
});

test("what an engine or a store failed at is offered again", () => {
  for (const code of ["engine_crashed", "worker_lost", "storage_unavailable", "out_of_memory"]) {
    expect(retryHelps(code)).toBe(true);
  }
});
