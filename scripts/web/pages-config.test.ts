import { createRequire } from "node:module";
import { PHASE_PRODUCTION_BUILD, PHASE_PRODUCTION_SERVER } from "next/constants.js";
import { expect, test } from "vitest";
import config from "../../next.config.mjs";

const loaded = () =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes("@swc/core"));

test("a server of built pages loads no compiler, a build does", async () => {
  await config(PHASE_PRODUCTION_SERVER);
  expect(loaded()).toEqual([]);
  await config(PHASE_PRODUCTION_BUILD);
  expect(loaded()).not.toEqual([]);
});
