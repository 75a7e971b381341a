import { afterEach, beforeEach, expect, it } from "vitest";
import { objectOf } from "../json.ts";
import { historyOf, postGraph } from "../recorded/client.ts";
import { listenIn } from "../recorded/listen-in.ts";
import { slowGraph } from "../recorded/scenes.ts";
import { startComfySimulator, type ComfySimulator } from "../start-comfy-simulator.ts";

let simulator: ComfySimulator;

beforeEach(async () => {
  simulator = await startComfySimulator();
});

afterEach(() => simulator.close());

it("a second socket of a client takes over, and is told the node that runs", async () => {
  simulator.inject({ kind: "hold", nodeClass: "ImageBlur" });
  const first = await listenIn(simulator.url, "me");
  const { promptId } = await postGraph(simulator.url, slowGraph(1), { client_id: "me" });
  await first.until(({ type, data }) => type === "executing" && objectOf(data).node === "2");
  const second = await listenIn(simulator.url, "me");
  await second.until(({ type }) => type === "executing");
  expect(second.take()).toEqual([
    { type: "status", data: { status: { exec_info: { queue_remaining: 1 } }, sid: "me" } },
    { type: "executing", data: { node: "2" } },
  ]);
  first.take();
  simulator.release();
  await second.untilEnd(promptId);
  expect(first.take()).toEqual([]);
  first.close();
  second.close();
});

it("a job without a client, or of another one, sends nothing but the queue", async () => {
  const ear = await listenIn(simulator.url, "me");
  const nobody = await postGraph(simulator.url, slowGraph(1));
  await historyOf(simulator.url, nobody.promptId);
  const other = await postGraph(simulator.url, slowGraph(2), { client_id: "other" });
  await historyOf(simulator.url, other.promptId);
  const mine = await postGraph(simulator.url, slowGraph(3), { client_id: "me" });
  await ear.untilEnd(mine.promptId);
  const foreign = ear.heard.map(objectOf).filter(({ type, data }) => {
    return type !== "status" && objectOf(data).prompt_id !== mine.promptId;
  });
  expect(foreign).toEqual([]);
  ear.close();
});
