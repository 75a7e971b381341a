import { AppError } from "@atelier/server/platform";
import { expect, test } from "vitest";
import { newHealth, noteAnswer, noteFailedRun, noteGoodRun, noteSilence, restingNeeds } from "./entry.ts";

const lost = new AppError("server_lost");
const need = "comfyui/t2i_sd15";
const limits = { memoryFailures: 2, restMs: 1_000, need } as const;

test("F25 A10 a server that stays away is asked ever more rarely, but each ten seconds at least", () => {
  const health = newHealth();
  const waits = Array.from({ length: 7 }, () => {
    noteSilence(health, lost, 0);
    return health.retryAtMs;
  });
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  noteAnswer(health, 0);
  noteSilence(health, lost, 0);
  expect(health.retryAtMs).toBe(500);
});

test("A10 a server that answers probes but loses every run is left alone for longer each time, until a good run", () => {
  const health = newHealth();
  const lose = () => {
    noteFailedRun(health, lost, { ...limits, nowMs: 0 });
    const { link, retryAtMs } = health;
    noteAnswer(health, 0);
    return [link, retryAtMs, health.link];
  };
  expect([lose(), lose(), lose()]).toEqual([
    ["down", 500, "up"],
    ["down", 1_000, "up"],
    ["down", 2_000, "up"],
  ]);
  noteGoodRun(health, need);
  expect(lose()).toEqual(["down", 500, "up"]);
});

test("F27 a rest ends with an answer after its time, never before the memory was freed", () => {
  const health = newHealth();
  for (let run = 0; run < 2; run++)
    noteFailedRun(health, new AppError("gpu_out_of_memory"), { ...limits, nowMs: 0 });
  expect(health).toMatchObject({ mustFree: true, restsUntilMs: 1_000 });
  noteAnswer(health, 2_000);
  expect(health.restsUntilMs).toBe(1_000);
  health.mustFree = false;
  noteAnswer(health, 999);
  expect(health.restsUntilMs).toBe(1_000);
  noteAnswer(health, 1_000);
  expect(health).toMatchObject({ restsUntilMs: null, lastError: null });
});

test("F27 a workflow that goes on failing rests for longer each time; a good run of it starts anew", () => {
  const health = newHealth();
  const failed = new AppError("engine_failed");
  const fail = (nowMs: number) => {
    noteFailedRun(health, failed, { ...limits, nowMs });
    return health.failedNeeds.get(need)?.restsUntilMs ?? null;
  };
  expect([fail(0), fail(0), fail(0)]).toEqual([null, null, 1_000]);
  noteAnswer(health, 999);
  expect(restingNeeds(health).size).toBe(1);
  noteAnswer(health, 1_000);
  expect(restingNeeds(health).size).toBe(0);
  expect([fail(0), fail(0), fail(0)]).toEqual([2_000, 4_000, 8_000]);
  for (let run = 0; run < 9; run++) fail(0);
  expect(fail(0)).toBe(60_000);
  noteGoodRun(health, need);
  expect([fail(0), fail(0), fail(0)]).toEqual([null, null, 1_000]);
});

test("F27 damaged workflows do not make a server unwell that runs others in between", () => {
  const health = newHealth();
  const failed = new AppError("engine_failed");
  for (const damaged of ["comfyui/t2i_sd15", "comfyui/t2i_sdxl"] as const) {
    for (let run = 0; run < 3; run++) noteFailedRun(health, failed, { ...limits, need: damaged, nowMs: 0 });
    noteGoodRun(health, "comfyui/upscale_model");
  }
  expect([health.restsUntilMs, restingNeeds(health).size]).toEqual([null, 2]);
});

const failedOf = (reason: string, nodeClass?: string) =>
  new AppError("engine_failed", "It fails.", { details: { reason, ...(nodeClass ? { nodeClass } : {}) } });

test.each([
  [failedOf("disk_full", "SaveImage")],
  [failedOf("disk_full", "PreviewImage")],
  [failedOf("files_open", "SaveAnimatedWEBP")],
  [failedOf("lost_card", "KSampler")],
  [failedOf("disk_full")],
])("F27 a server that fails every run rests, and nothing that it has made is freed: %o", (failed) => {
  const health = newHealth();
  noteFailedRun(health, failed, { ...limits, nowMs: 0 });
  expect(health).toMatchObject({ unfitRuns: 1, mustFree: false, restsUntilMs: 2_000 });
  noteAnswer(health, 2_000);
  expect(health.restsUntilMs).toBeNull();
});

test.each(["disk_full", "files_open"])(
  "F27 a node that cannot write where it wants rests its workflow alone: %s",
  (reason) => {
    const health = newHealth();
    const failed = failedOf(reason, "OwnCache");
    for (let run = 0; run < 3; run++) noteFailedRun(health, failed, { ...limits, nowMs: 0 });
    noteFailedRun(health, failed, { ...limits, need: "comfyui/t2i_sdxl", nowMs: 0 });
    expect(health).toMatchObject({ unfitRuns: 0, mustFree: false, restsUntilMs: null });
    expect([...restingNeeds(health)]).toEqual([[need, "It fails."]]);
  },
);

test("F27 two nodes that cannot write one after the other are a server that cannot; after a good run they are not", () => {
  const health = newHealth();
  const fail = (nodeClass: string) =>
    noteFailedRun(health, failedOf("disk_full", nodeClass), { ...limits, nowMs: 0 });
  fail("OwnCache");
  noteGoodRun(health, "comfyui/t2i_sdxl");
  fail("OtherCache");
  expect(health.unfitRuns).toBe(0);
  fail("OwnCache");
  expect(health).toMatchObject({ unfitRuns: 1, restsUntilMs: 2_000 });
  // Once that is known, it is so for each node.
  fail("OwnCache");
  expect(health).toMatchObject({ unfitRuns: 2, restsUntilMs: 4_000 });
});
