import { execFileSync } from "node:child_process";
import path from "node:path";
import { PHASE_PRODUCTION_BUILD, PHASE_PRODUCTION_SERVER } from "next/constants.js";
import { expect, test } from "vitest";

const config = path.resolve(import.meta.dirname, "../../next.config.mjs");

/** The files of the compiler that a process has loaded after it read the configuration for this phase. */
function loadedFor(phase: string): string[] {
  const script = `
    const { createRequire } = await import("node:module");
    const { default: config } = await import(${JSON.stringify(config)});
    await config(${JSON.stringify(phase)});
    const files = Object.keys(createRequire(${JSON.stringify(config)}).cache);
    console.log(JSON.stringify(files.filter((file) => file.includes("@swc/core"))));`;
  const args = ["--input-type=module", "--eval", script];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

test("a server of built pages loads no compiler, a build does", () => {
  expect(loadedFor(PHASE_PRODUCTION_SERVER)).toEqual([]);
  expect(loadedFor(PHASE_PRODUCTION_BUILD)).not.toEqual([]);
});
