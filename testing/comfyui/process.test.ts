import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { killAtExit, runNode } from "../processes/index.ts";
import { ask } from "./recorded/client.ts";

const programs = [
  ["comfyui", "main.ts", "/prompt"],
  ["iopaint", "../iopaint/main.ts", "/api/v1/model"],
] as const;

describe("the simulators as processes", () => {
  it.each(programs)("%s listens, says that it is a SIMULATOR and ends on SIGTERM", async (_, file, path) => {
    const run = runNode([fileURLToPath(new URL(file, import.meta.url)), "--port", "0"]);
    killAtExit(run.child);
    const [, url = ""] = await run.seen(/SIMULATOR .* listens on (\S+)/);
    expect((await ask(url + path))[0]).toBe(200);
    expect((await ask(`${url}/sim/stats`))[0]).toBe(200);
    run.child.kill("SIGTERM");
    expect(await run.ended).toBe(0);
  });
});
