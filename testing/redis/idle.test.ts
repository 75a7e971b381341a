import { expect, test, vi } from "vitest";
import { createHints } from "@atelier/server/queue";
import { startRedis } from "./index.ts";

const lookMs = 10_000;

test("A3 a listener asks its Redis only after a while of silence, since requests may be paid for", async ({
  onTestFinished,
}) => {
  const redis = await startRedis();
  onTestFinished(() => redis.destroy());
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const hints = createHints(
    { backend: "redis", url: redis.url },
    { onError: () => undefined, later: () => undefined },
  );
  onTestFinished(() => hints.close());
  let heard = 0;
  hints.subscribe(() => (heard += 1));
  const isHeard = async (timeout?: number) => {
    const before = heard;
    hints.publish({ type: "server", url: "http://one" });
    await expect.poll(() => heard, timeout === undefined ? {} : { timeout }).toBeGreaterThan(before);
    return true;
  };
  await expect.poll(() => isHeard(1_000).catch(() => false)).toBe(true);
  const calls = async () => {
    const stats = await redis.send("INFO commandstats");
    return ["set", "ping"].map((name) =>
      Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
    );
  };
  const [, before = 0] = await calls();
  // Each of the first three is after a hint, and the last four are silent.
  for (let at = 0; at < 3; at += 1) {
    await isHeard();
    vi.advanceTimersByTime(lookMs);
  }
  await isHeard();
  vi.advanceTimersByTime(4 * lookMs);
  await expect.poll(calls).toEqual([7, before + 2]);
});
