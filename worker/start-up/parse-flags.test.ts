import { expect, test } from "vitest";
import { parseFlags, toArgs } from "../args.ts";

const parse = (line: string) => parseFlags(line.split(" ").filter(Boolean));

test("A9 --only names kinds", () => {
  expect(parse("").flags).toEqual({ only: null, once: null, wantsHelp: false });
  expect(parse("--only upscale,inpaint").flags?.only).toBe("upscale,inpaint");
  expect(parse("-- --only=upscale").flags?.only).toBe("upscale");
});

test("D4 --once waits ten seconds, or as long as it is told", () => {
  expect(parse("--once").flags?.once).toEqual({ waitMs: 10_000 });
  expect(parse("--once --wait 0").flags?.once).toEqual({ waitMs: 0 });
  expect(parse("--once --wait 2.5").flags?.once).toEqual({ waitMs: 2_500 });
});

test("what the worker's own process gets means the same", () => {
  expect(toArgs({ once: null })).toEqual([]);
  const args = toArgs({ once: { waitMs: 2_500 } });
  expect(parseFlags(args).flags?.once).toEqual({ waitMs: 2_500 });
});

test.each([
  "--wait 5",
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
