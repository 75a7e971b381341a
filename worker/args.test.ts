import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { askOnly, mayAsk } from "./start-up/ask-only.ts";
import { possibleKinds } from "./start-up/possible-kinds.ts";

const kinds = ["outfit_change", "upscale", "inpaint"];

/** Types lines, each when it is asked for, and gives what was chosen and printed. */
async function ask(...typed: readonly string[]) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const rest = [...typed];
  let printed = "";
  output.on("data", (chunk: Buffer) => {
    printed += chunk.toString();
    if (!chunk.toString().endsWith("all: ")) return;
    const line = rest.shift();
    if (line === undefined) input.end();
    else input.write(`${line}\n`);
  });
  return { chosen: await askOnly({ kinds, input, output }), printed };
}

test("A9 kinds are chosen by number or name", async () => {
  expect((await ask("2, inpaint 2")).chosen).toEqual(["upscale", "inpaint"]);
  expect((await ask("1")).printed).toContain("  1  outfit_change\n  2  upscale\n");
});

test("A9 Enter takes all, and so does the end of the input", async () => {
  expect((await ask("")).chosen).toEqual([]);
  expect((await ask()).chosen).toEqual([]);
});

test("A9 a wrong answer is asked again", async () => {
  const { chosen, printed } = await ask("4,cups,1", "3");
  expect(chosen).toEqual(["inpaint"]);
  expect(printed).toContain("There is no 4, cups.");
});

test("A9 a stop ends the question", async () => {
  const stop = new AbortController();
  const asked = askOnly({
    kinds,
    input: new PassThrough(),
    output: new PassThrough(),
    signal: stop.signal,
  });
  stop.abort();
  expect(await asked).toEqual([]);
});

test("A9 nobody is asked without a terminal, in CI, or when kinds are configured", () => {
  const given = { isTerminal: true, ci: undefined, only: [] };
  expect(mayAsk(given)).toBe(true);
  expect(mayAsk({ ...given, ci: "false" })).toBe(true);
  expect(mayAsk({ ...given, isTerminal: false })).toBe(false);
  expect(mayAsk({ ...given, ci: "true" })).toBe(false);
  expect(mayAsk({ ...given, only: ["upscale"] })).toBe(false);
});

test("A9 what can be asked for follows from the servers", () => {
  const none = { COMFYUI_URLS: [], COMFYUI_DISCOVERY: [], IOPAINT_URLS: [] };
  expect(possibleKinds(none)).toEqual(["outfit_change", "upscale", "inpaint", "remove_background"]);
  expect(possibleKinds({ ...none, COMFYUI_URLS: ["a:8188"] })).toContain("text_to_image");
});
