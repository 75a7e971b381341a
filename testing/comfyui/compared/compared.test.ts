import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startComfySimulator, type ComfySimulator } from "../start-comfy-simulator.ts";
import { playClasses, playRefusals, playRequests, playRuns, type Said } from "./play.ts";

/** What a real 0.8.0 said to the same, recorded by `record.ts`. */
const recorded: Record<"classes" | "requests" | "refusals" | "runs", Said[]> = JSON.parse(
  readFileSync(new URL("../fixtures/compared-0.8.0.json", import.meta.url), "utf8"),
);

let simulator: ComfySimulator;

beforeAll(async () => {
  simulator = await startComfySimulator({ models: {}, device: { type: "cpu", vramTotalBytes: 2 ** 34 } });
});

afterAll(() => simulator.close());

describe.each([
  ["classes", playClasses],
  ["requests", playRequests],
  ["refusals", playRefusals],
  ["runs", playRuns],
] as const)("the simulator and a real server say the same: %s", (name, play) => {
  let said: Map<string, unknown>;

  beforeAll(async () => {
    said = new Map((await play(simulator.url)).map((one) => [one.title, one.said]));
  });

  it.each(recorded[name])("$title", ({ title, said: wanted }) => {
    expect(said.get(title)).toEqual(wanted);
  });
});
