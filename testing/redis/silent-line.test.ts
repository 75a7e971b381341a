// @module-tag all
import { expect, test } from "vitest";
import { createBells, createHints } from "@atelier/server/queue";
import { openLine } from "../network/index.ts";
import { startRedis } from "./index.ts";

const silent = { toServer: { isSilent: true }, toClient: { isSilent: true } } as const;

test("A3 what waits on a line that fell silent without an end goes on over a new connection", async ({
  onTestFinished,
}) => {
  const redis = await startRedis();
  onTestFinished(() => redis.destroy());
  const [hearing, ringing] = [await openLine(redis.url), await openLine(redis.url)];
  onTestFinished(() => Promise.all([hearing.close(), ringing.close()]).then(() => undefined));
  const errors: { of: string; message: string }[] = [];
  const connectionOf = (of: string, url: string) =>
    [
      { backend: "redis", url },
      { onError: (error: Error) => void errors.push({ of, message: error.message }), later: () => undefined },
    ] as const;
  const hearer = createHints(...connectionOf("hearer", hearing.urlOf(redis.url)));
  const sender = createHints(...connectionOf("sender", redis.url));
  const bells = createBells(...connectionOf("bells", ringing.urlOf(redis.url)));
  onTestFinished(() => Promise.all([hearer, sender, bells].map((one) => one.close())).then(() => undefined));
  let heard = 0;
  hearer.subscribe(() => (heard += 1));
  const isHeard = async () => {
    const before = heard;
    sender.publish({ type: "server", url: "http://one" });
    await expect.poll(() => heard, { timeout: 1_000 }).toBeGreaterThan(before);
    return true;
  };
  const ring = async (jobId: string) => {
    await bells.ring("cpu-light", [{ jobId, attempt: 0, ring: 1 }]);
    return true;
  };
  const no = () => false;
  await expect.poll(() => isHeard().catch(no)).toBe(true);
  await ring("before");
  hearing.set(silent);
  ringing.set(silent);
  const rung = ring("meanwhile").catch(no);
  expect(await rung).toBe(false);
  const told = () => [...new Set(errors.map(({ of }) => of))].toSorted();
  await expect.poll(told, { timeout: 40_000 }).toEqual(["bells", "hearer"]);
  hearing.set({});
  ringing.set({});
  await expect.poll(() => isHeard().catch(no), { timeout: 20_000 }).toBe(true);
  await expect.poll(() => ring("after").catch(no), { timeout: 20_000 }).toBe(true);
}, 90_000);
