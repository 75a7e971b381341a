import { afterEach, beforeEach, expect, it } from "vitest";
import { objectOf } from "./options.ts";
import { historyOf, listenIn, postGraph } from "./recorded/client.ts";
import { slowGraph, socketGraph } from "./recorded/recording.ts";
import { type ComfySimulator, startComfySimulator } from "./start-comfy-simulator.ts";

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

/** What a socket heard of other prompts than the one given, each kind of message once. */
function heardOfOthers(heard: readonly unknown[], promptId: string): string[] {
  const kinds = heard.map(objectOf).flatMap((message) => {
    if ("binary_event" in message) return [`binary ${String(message.binary_event)}`];
    const isOther = message.type !== "status" && objectOf(message.data).prompt_id !== promptId;
    return isOther ? [String(message.type)] : [];
  });
  return [...new Set(kinds)].toSorted();
}

const shown = {
  size: { class_type: "GetImageSize", inputs: { image: ["1", 0] } },
  text: { class_type: "PreviewAny", inputs: { source: ["size", 0] } },
};

it.each([
  [
    "without a client sends its steps, pictures and texts",
    {},
    ["binary 1", "binary 3", "progress", "progress_state"],
  ],
  ["of another client sends its texts", { client_id: "other" }, ["binary 3"]],
])("a job %s to everybody", async (_, more, wanted) => {
  const ear = await listenIn(simulator.url, "me", true);
  const { promptId } = await postGraph(simulator.url, { ...socketGraph(1), ...shown }, more);
  await historyOf(simulator.url, promptId);
  const mine = await postGraph(simulator.url, slowGraph(3), { client_id: "me" });
  await ear.untilEnd(mine.promptId);
  expect(heardOfOthers(ear.heard, mine.promptId)).toEqual(["feature_flags", ...wanted].toSorted());
  ear.close();
});
