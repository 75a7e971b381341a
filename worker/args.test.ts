import { PassThrough } from "node:stream";
import { jobKinds } from "@atelier/server/engines";
import { parseConfig, parseEnv } from "@atelier/server/platform";
import { modelsOf, paidKinds } from "@atelier/server/providers";
import { describe, expect, test } from "vitest";
import { askOnly, mayAsk, parseFlags, possibleKinds, toArgs } from "./args.ts";

describe("parse flags", () => {
  const parse = (line: string) => parseFlags(line.split(" ").filter(Boolean));

  test("A9 --only names kinds", () => {
    expect(parse("").flags).toEqual({ only: null, once: null, wantsHelp: false });
    expect(parse("--only upscale,inpaint").flags?.only).toBe("upscale,inpaint");
    expect(parse("-- --only=upscale").flags?.only).toBe("upscale");
  });

  test("D4 --once waits ten seconds, or as long as it is told", () => {
    expect(parse("--once").flags?.once).toEqual({ waitMs: 10_000, queue: null });
    expect(parse("--once --wait 0").flags?.once).toEqual({ waitMs: 0, queue: null });
    expect(parse("--once --queue gpu-high --wait 2.5").flags?.once).toEqual({
      waitMs: 2_500,
      queue: "gpu-high",
    });
  });

  test("what the worker's own process gets means the same", () => {
    expect(toArgs({ once: null })).toEqual([]);
    for (const once of [
      { waitMs: 2_500, queue: null },
      { waitMs: 2_500, queue: "gpu-high" },
    ])
      expect(parseFlags(toArgs({ once })).flags?.once).toEqual(once);
  });

  test.each([
    "--wait 5",
    "--queue gpu-high",
    "--once --queue=",
    "--once --wait=",
    "--once --wait soon",
    "--once --wait -1",
    "--once --wait 4000",
    "--only",
    "--only=",
    "--twice",
    "upscale",
  ])("%s is refused with how to use it", (line) => {
    const { flags, problem } = parse(line);
    expect(flags).toBeNull();
    expect(problem).toMatch(/.+\n\nUsage: worker/);
  });
});

describe("args", () => {
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

  test("A9 what can be asked for follows from the servers and the keys", () => {
    const kindsWith = (given: Record<string, string>) => {
      const { env } = parseEnv(given);
      return env && possibleKinds(env, paidKinds(env, modelsOf(parseConfig({}))));
    };
    expect(kindsWith({})).toEqual([
      "outfit_change",
      "upscale",
      "inpaint",
      "remove_background",
      "segment",
      "adjust",
      "crop",
      "restore",
    ]);
    expect(kindsWith({ COMFYUI_URLS: "a:8188" })).toEqual(jobKinds);
    expect(kindsWith({ IOPAINT_URLS: "a:8080" })).toContain("segment");
    expect(kindsWith({ COMFYUI_DISCOVERY: "https://a.example.org/list.json" })).toEqual(jobKinds);
    expect(kindsWith({ FAL_API_KEY: "key" })).toEqual(expect.arrayContaining(["text_to_image", "edit"]));
    expect(kindsWith({ FASHN_API_KEY: "key" })).toContain("outfit_change");
    expect(kindsWith({ FASHN_API_KEY: "key" })).not.toContain("text_to_image");
  });
});
