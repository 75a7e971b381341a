import { expect, test } from "vitest";
import { runNode } from "../../testing/processes/index.ts";
import { quickResolveFlag } from "./quick-resolve-flag.ts";

const services = new URL("../../server/services.ts", import.meta.url).href;
const tellLoads = `
  import { registerHooks } from "node:module";
  registerHooks({ load: (url, context, next) => (console.log(context.format, url), next(url, context)) });
  await import(${JSON.stringify(services)});`;

async function readLoads(...flags: string[]): Promise<string[]> {
  const run = runNode([...flags, "--input-type=module", "--eval", tellLoads]);
  expect(await run.ended).toBe(0);
  return run
    .output()
    .split("\n")
    .filter((line) => line.includes("/node_modules/"));
}

test("files of packages are found where Node finds them, as what it takes them for", async () => {
  const [quick, plain] = await Promise.all([readLoads(quickResolveFlag), readLoads()]);
  expect(plain.filter((line) => line.includes("drizzle-orm")).length).toBeGreaterThan(50);
  expect(plain.filter((line) => !line.includes("drizzle-orm")).length).toBeGreaterThan(5);
  expect(quick.toSorted()).toEqual(plain.toSorted());
});
