import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { serveAnswers } from "@atelier/testing/http";
import { outputsOf } from "./failures.ts";
import { postPrompt } from "./post.ts";
import { findPrompt, readHistory, readQueue } from "./routes.ts";
import { parseEvent } from "./socket.ts";
import { createProgress } from "./watch.ts";

/** What a real ComfyUI 0.8.0 said: `[seconds, message of the socket]` or `[null, note or answer]`. */
const lines = readFileSync(
  new URL("../../../testing/comfyui/fixtures/recorded-0.8.0.jsonl", import.meta.url),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as [number | null, unknown]);

const { signal } = new AbortController();
const promptId = "10ccd508-9eac-4400-a3d5-74c2224fefd7";

/** The lines between a note and the next one. */
function sectionOf(title: string): [number | null, unknown][] {
  const start = lines.findIndex(([, said]) => said === `=== ${title}`);
  if (start < 0) throw new Error(`the recording has no part "${title}"`);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex(([, said]) => typeof said === "string" && said.startsWith("==="));
  return rest.slice(0, end < 0 ? undefined : end);
}

const answersOf = (title: string) => sectionOf(title).flatMap(([at, said]) => (at === null ? [said] : []));
const eventsOf = (title: string) =>
  sectionOf(title).flatMap(([at, said]) => (at === null ? [] : [JSON.stringify(said)]));

/** The error with which a recorded answer to POST /prompt ends the call. */
async function refusalOf(title: string): Promise<unknown> {
  const [, status, body] = answersOf(title)[0] as [string, number, unknown];
  const server = await serveAnswers(() => ({ status, body: JSON.stringify(body) }));
  const prompt = { graph: {}, promptId, clientId: promptId };
  const refusal = await postPrompt(server, prompt, { signal }).catch((error: unknown) => error);
  await server.close();
  return refusal;
}

test.each([
  ["unknown class", "node_missing", { classes: ["NoSuchNode"] }],
  [
    "missing checkpoint",
    "model_missing",
    { models: [{ class: "CheckpointLoaderSimple", input: "ckpt_name", file: "sdxl.safetensors" }] },
  ],
  ["missing input file", "input_missing", undefined],
  [
    "missing input + too big",
    "graph_invalid",
    {
      type: "prompt_outputs_failed_validation",
      errors: [
        { node: "3", class: "ImageBlur", type: "required_input_missing", input: "sigma" },
        { node: "3", class: "ImageBlur", type: "value_bigger_than_max", input: "blur_radius" },
      ],
    },
  ],
  ["missing class_type", "graph_invalid", { type: "invalid_prompt", errors: [] }],
  ["no outputs", "graph_invalid", { type: "prompt_no_outputs", errors: [] }],
] as const)("A12 a prompt refused for: %s", async (title, code, details) => {
  expect(await refusalOf(title)).toMatchObject({ code, details });
});

test.each(["not in list", "type mismatch", "dangling link"])(
  "A12 a prompt refused for: %s is a fault of the graph, told without values and paths",
  async (title) => {
    const refusal = await refusalOf(title);
    expect(refusal).toMatchObject({ code: "graph_invalid" });
    expect(JSON.stringify(refusal)).not.toMatch(/zzz|\/opt|traceback/);
  },
);

test.each([
  ["runtime error", "engine_failed", "LoadImage"],
  ["allocation failure on CPU", "out_of_memory", "EmptyImage"],
] as const)("A12 the history of a %s", (title, code, nodeClass) => {
  const [, status] = answersOf(title).find((said) => Array.isArray(said) && said[0] === "history status") as [
    string,
    { status_str: string; completed: boolean; messages: [string, unknown][] },
  ];
  const fail = () => outputsOf({ outputs: {}, status });
  const details = { nodeClass, exception: expect.stringMatching(/Error: /) };
  expect(fail).toThrow(expect.objectContaining({ code, details }));
  expect(() => fail()).not.toThrow(/opt|line \d/);
});

test("A12 an interrupted prompt is told apart from a failed one", () => {
  const [, status] = answersOf("interrupt p1 targeted").find(
    (said) => Array.isArray(said) && said[0] === "p1 history status",
  ) as [string, { status_str: string; completed: boolean; messages: [string, unknown][] }];
  expect(() => outputsOf({ outputs: {}, status })).toThrow(
    expect.objectContaining({ code: "engine_interrupted" }),
  );
});

test("A12 the history of a success names its files by node", async () => {
  const server = await serveAnswers(() => ({ body: JSON.stringify(answersOf("history of success")[0]) }));
  const entry = await readHistory(server, promptId, { signal });
  await server.close();
  expect(entry && outputsOf(entry)).toEqual([
    { nodeId: "4", filename: "out_00001_.png", subfolder: "job1", type: "output" },
    { nodeId: "5", filename: "ComfyUI_temp_cansn_00001_.png", subfolder: "", type: "temp" },
  ]);
});

test("A12 a queue tells what runs and what waits", async () => {
  const queue = JSON.stringify(answersOf("GET /queue")[0]);
  const server = await serveAnswers(({ path }) => ({ body: path.startsWith("/history") ? "{}" : queue }));
  expect(await readQueue(server, { signal })).toEqual({
    running: ["d2d8070e-4ffb-437e-9a86-2cf1a3d1b619"],
    pending: ["1ce49ea6-5cf2-41e3-b50c-728fbf485a0b", "33dfe74d-f5cd-4424-baa8-c757bce2cd2c"],
  });
  const stateOf = async (id: string) => (await findPrompt(server, id, { signal })).state;
  expect(await stateOf("d2d8070e-4ffb-437e-9a86-2cf1a3d1b619")).toBe("running");
  expect(await stateOf("33dfe74d-f5cd-4424-baa8-c757bce2cd2c")).toBe("pending");
  expect(await stateOf(promptId)).toBe("unknown");
  await server.close();
});

test("A12 the events of a success make a progress that only rises", () => {
  const graph = Object.fromEntries(
    ["1", "2", "3", "4", "5"].map((id) => [id, { class_type: `N${id}`, inputs: {} }]),
  );
  const seen: [number, string][] = [];
  const progress = createProgress(graph, (fraction, nodeClass) => seen.push([fraction, nodeClass]));
  const events = eventsOf("success").flatMap((text) => parseEvent(text) ?? []);
  for (const event of events) progress(event);
  expect(events.at(-1)).toMatchObject({ type: "executing", data: { node: null } });
  expect(seen.map(([, nodeClass]) => nodeClass)).toEqual(
    expect.arrayContaining(["N1", "N2", "N3", "N4", "N5"]),
  );
  expect(seen.map(([fraction]) => fraction)).toEqual(
    seen.map(([fraction]) => fraction).toSorted((a, b) => a - b),
  );
  expect(seen.at(-1)?.[0]).toBe(0.99);
});

test("A12 every recorded event about a prompt is read", () => {
  const about = lines.filter(
    ([at, said]) =>
      at !== null &&
      typeof said === "object" &&
      said !== null &&
      "data" in said &&
      JSON.stringify(said).includes("prompt_id"),
  );
  expect(about.length).toBeGreaterThan(60);
  expect(about.filter(([, said]) => !parseEvent(JSON.stringify(said)))).toEqual([]);
});
