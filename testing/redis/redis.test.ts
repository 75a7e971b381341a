import { afterEach, expect, test } from "vitest";
import { startRedis, type TestRedis } from "./index.ts";

let redis: TestRedis | null = null;

afterEach(() => redis?.destroy());

test("a Redis of its own keeps its data over a restart and loses it at FLUSHALL", async () => {
  redis = await startRedis();
  await redis.send("SET mark 1");
  await redis.stop();
  await redis.start();
  expect(await redis.send("GET mark")).toBe("$1\r\n1\r\n");
  await redis.flushAll();
  expect(await redis.send("GET mark")).toBe("$-1\r\n");
  await redis.kill9();
  await redis.start();
  expect(await redis.send("PING")).toBe("+PONG\r\n");
});
