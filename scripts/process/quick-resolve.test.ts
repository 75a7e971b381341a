import { expect, test } from "vitest";
import { runNode } from "../../testing/processes/index.ts";
import { quickResolveFlag } from "./quick-resolve-flag.ts";

const tellLoads = (file: string) => `
  import { registerHooks } from "node:module";
  registerHooks({ load: (url, context, next) => (console.log(context.format, url), next(url, context)) });
  await import(${JSON.stringify(new URL(`../../${file}`, import.meta.url).href)});`;

/** Files of packages that come with a file of the product. */
async function readLoads(file: string, ...flags: string[]): Promise<string[]> {
  const run = runNode([...flags, "--input-type=module", "--eval", tellLoads(file)]);
  expect(await run.ended).toBe(0);
  return run
    .output()
    .split("\n")
    .filter((line) => line.includes("/node_modules/"));
}

test("files of packages are found where Node finds them, as what it takes them for", async () => {
  const [quick, plain] = await Promise.all([
    readLoads("server/services.ts", quickResolveFlag),
    readLoads("server/services.ts"),
  ]);
  expect(plain.filter((line) => line.includes("drizzle-orm")).length).toBeGreaterThan(50);
  expect(plain.filter((line) => !line.includes("drizzle-orm")).length).toBeGreaterThan(5);
  expect(quick.toSorted()).toEqual(plain.toSorted());
});

test("a worker loads nothing of the library of sign-ins: server/accounts/plain.ts is its door", async () => {
  const loads = await readLoads("worker/work.ts", quickResolveFlag);
  expect(loads.filter((line) => line.includes("drizzle-orm")).length).toBeGreaterThan(50);
  const ofSignIns = /node_modules\/(better-auth|@better-auth\/(?!utils)|kysely|openid-client)\//;
  expect(loads.filter((line) => ofSignIns.test(line))).toEqual([]);
});

test("the stages of the assistant bring no package of language models before a model is called: a worker looks every minute", async () => {
  const loads = await readLoads("server/assistant/stages/index.ts", quickResolveFlag);
  expect(loads.filter((line) => line.includes("drizzle-orm")).length).toBeGreaterThan(50);
  expect(loads.filter((line) => /node_modules\/(ai|@ai-sdk|gpt-tokenizer)\//.test(line))).toEqual([]);
});

test("the file about behaviour brings no package, of which the pages' process would have a second copy", async () => {
  expect(await readLoads("atelier.config.ts")).toEqual([]);
});
