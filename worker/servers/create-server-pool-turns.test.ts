import { expect, test } from "vitest";
import {
  acquire,
  ask,
  endAfterEach,
  listed,
  openPool,
  startServer,
  untilState,
} from "./fixtures/pool-scene.ts";
import type { HeldServer } from "./server-pool.ts";

endAfterEach();

const holder = { jobId: "holds", patienceMs: 30_000, signal: new AbortController().signal };

test("A10 servers are taken in turn, one job on each at once, those with the shortest queue first", async () => {
  const [a, b, c] = [await startServer(), await startServer(), await startServer({ queueLength: 2 })];
  const { pool } = await openPool([listed(a.url), listed(b.url), listed(c.url)], { probeMs: 60_000 });
  const given: string[] = [];
  for (let run = 0; run < 4; run++) {
    const held = await acquire(pool);
    given.push(held.url);
    held.release();
  }
  expect(given).toEqual([a.url, b.url, a.url, b.url]);
  const held = [await acquire(pool), await acquire(pool), await acquire(pool, { jobId: "third" })];
  expect(held.map(({ url }) => url)).toEqual([a.url, b.url, c.url]);
  expect(pool.list().map(({ jobId }) => jobId)).toEqual(["job", "job", "third"]);
});

test("A10 a server of twice the weight is taken twice as often, a backup only where no other is free", async () => {
  const [a, b, c] = [await startServer(), await startServer(), await startServer()];
  const { pool } = await openPool([
    listed(a.url, { isBackup: true }),
    listed(b.url),
    listed(c.url, { weight: 2 }),
  ]);
  const given: string[] = [];
  for (let run = 0; run < 9; run++) {
    const held = await acquire(pool);
    given.push(held.url);
    held.release();
  }
  expect([b, c].map(({ url }) => given.filter((each) => each === url).length)).toEqual([3, 6]);
  const held = [await acquire(pool), await acquire(pool), await acquire(pool)];
  expect(held.at(-1)?.url).toBe(a.url);
});

test("A10 the preferred server is given where it is free, an avoided one never", async () => {
  const [a, b] = [await startServer(), await startServer()];
  const { pool } = await openPool([listed(a.url), listed(b.url)]);
  const preferred = await acquire(pool, { prefer: b.url });
  expect(preferred.url).toBe(b.url);
  expect((await acquire(pool, { prefer: b.url })).url).toBe(a.url);
  expect(await pool.acquire(ask({ avoid: [a.url, b.url], prefer: b.url }))).toBeNull();
  const waiting = pool.acquire(ask({ avoid: [a.url] }));
  preferred.release();
  expect((await waiting)?.url).toBe(b.url);
});

test("A10 whoever waits for a busy server gets it first come, first served; an abort gives up the place", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)]);
  const held = await acquire(pool, { jobId: "one" });
  const leaver = new AbortController();
  const order: string[] = [];
  const waitFor = async (jobId: string, signal = new AbortController().signal) => {
    const got = await acquire(pool, { jobId, signal });
    order.push(jobId);
    got.release();
  };
  const left = waitFor("two", leaver.signal);
  const rest = [waitFor("three"), waitFor("four")];
  leaver.abort(new Error("cancelled"));
  await expect(left).rejects.toThrow("cancelled");
  held.release();
  held.release();
  await Promise.all(rest);
  expect(order).toEqual(["three", "four"]);
  await expect(pool.acquire(ask({ signal: AbortSignal.abort(new Error("late")) }))).rejects.toThrow("late");
});

test("F3 the server that has a job's work is given to it although it is drained, before whoever waits to begin", async () => {
  const [at, other] = [await startServer(), await startServer()];
  const { pool } = await openPool([listed(at.url), listed(other.url)]);
  const [first, second] = [await acquire(pool), await acquire(pool)];
  const order: string[] = [];
  const take = async (jobId: string, asked: Promise<HeldServer | null>) => {
    const held = await asked;
    order.push(`${jobId} ${held?.url}`);
    held?.release();
  };
  const begins = take("begins", pool.acquire(ask({ jobId: "begins" })));
  const holds = take("holds", pool.acquireHolder({ ...holder, url: first.url }));
  first.release();
  await Promise.all([begins, holds]);
  expect(order).toEqual([`holds ${first.url}`, `begins ${first.url}`]);
  pool.setDrained(new Set([first.url]));
  expect(await pool.acquire(ask({ avoid: [second.url] }))).toBeNull();
  expect((await pool.acquireHolder({ ...holder, url: first.url }))?.url).toBe(first.url);
});

test("F3 a server that is away is waited for as long as the job is patient, one that is not known not at all", async () => {
  const server = await startServer();
  const { pool } = await openPool([listed(server.url)]);
  await server.kill();
  await untilState(pool, server, "down");
  expect(await pool.acquireHolder({ ...holder, url: server.url, patienceMs: 50 })).toBeNull();
  expect(await pool.acquireHolder({ ...holder, url: "http://127.0.0.1:1" })).toBeNull();
  const waiting = pool.acquireHolder({ ...holder, url: server.url });
  await server.restart();
  expect((await waiting)?.url).toBe(server.url);
  const leaver = new AbortController();
  const left = pool.acquireHolder({ ...holder, url: server.url, signal: leaver.signal });
  leaver.abort(new Error("cancelled"));
  await expect(left).rejects.toThrow("cancelled");
});
