import { findProgram, runNode } from "@atelier/testing/processes";
import { expect, test } from "vitest";

test.each([
  [["seed", "--help"], 0, /^atelier seed: fills a studio/m],
  [["users", "list", "-h"], 0, /^atelier users: list, suspend/m],
  [["--help"], 0, /^ {2}seed +fills a studio/m],
  [["sed"], 1, /There is no command "sed"/],
])("atelier %j ends with %d and says what is there", async (args, code, text) => {
  const run = runNode([...(await findProgram("cli/main.ts")), ...args], { NODE_ENV: "test" });
  expect(await run.ended).toBe(code);
  expect(run.output()).toMatch(text);
});
