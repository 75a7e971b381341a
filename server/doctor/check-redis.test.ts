import { startRedis } from "@atelier/testing/redis";
import { expect, test } from "vitest";
import { checkRedis, judgeVersion } from "./check-redis.ts";

test("a running Redis of today passes with its version", async () => {
  const redis = await startRedis();
  expect(await checkRedis(redis.url)).toMatchObject({
    isOk: true,
    message: expect.stringMatching(/^Redis \d+\./),
  });
  await redis.destroy();
});

test.each([
  ["5.0.14", false],
  ["6.0.20", false],
  ["6.2.0", true],
  ["7.0.1", true],
  ["10.0.0", true],
  ["", false],
])("Redis %s: new enough is %s", (version, isOk) => {
  expect(judgeVersion(version).isOk).toBe(isOk);
});
