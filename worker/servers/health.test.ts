import { AppError } from "@atelier/server/platform";
import { expect, test } from "vitest";
import { newHealth, noteAnswer, noteFailedRun, noteGoodRun, noteSilence } from "./health.ts";

const lost = new AppError("server_lost");
const limits = { memoryFailures: 2, restMs: 1_000 };

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
  noteGoodRun(health);
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
