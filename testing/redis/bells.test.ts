import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, test, vi } from "vitest";
import { type Bell, createBells, createHints } from "@atelier/server/queue";
import { startRedis } from "./index.ts";

const bellOf = (jobId: string): Bell => ({ jobId, attempt: 0, ring: 1 });
const queue = "cpu-light";

test("A3 while the connection is lost a bell fails at once, and a function's rings when it is back", async ({
  onTestFinished,
}) => {
  const redis = await startRedis();
  onTestFinished(() => redis.destroy());
  const open = (isPatient: boolean) => {
    const bells = createBells({ backend: "redis", url: redis.url }, { onError: () => undefined, isPatient });
    onTestFinished(() => bells.close());
    return bells;
  };
  const [usual, patient] = [open(false), open(true)];
  await Promise.all([usual, patient].map((bells, at) => bells.ring(queue, [bellOf(`before-${at}`)])));
  await redis.stop();
  const isRefused = () =>
    usual.ring(queue, [bellOf("usual")]).then(
      () => false,
      () => true,
    );
  await vi.waitUntil(isRefused, { timeout: 10_000 });
  const rung = patient.ring(queue, [bellOf("patient")]);
  await redis.start();
  await rung;
  const heard: string[] = [];
  const consumer = patient.consume(queue, 1, async ({ jobId }) => void heard.push(jobId));
  await vi.waitUntil(() => heard.includes("patient"), { timeout: 10_000 });
  expect(heard).not.toContain("usual");
  await consumer.close();
});

/** Two servers behind one name; `failOver` makes the first one a replica of the second. */
async function startNamed(onTestFinished: (end: () => void | Promise<void>) => void) {
  const [old, next] = await Promise.all([startRedis(), startRedis()]);
  for (const redis of [old, next]) onTestFinished(() => redis.destroy());
  // New connections alone go to what the name stands for now.
  let named = old;
  const name = createServer((socket) => {
    const way = connect(Number(new URL(named.url).port), "127.0.0.1");
    for (const [from, to] of [
      [socket, way],
      [way, socket],
    ] as const)
      from.pipe(to).on("error", () => from.destroy());
  });
  name.listen(0, "127.0.0.1");
  await once(name, "listening");
  onTestFinished(() => void name.close());
  const { port } = name.address() as AddressInfo;
  const failOver = async () => {
    named = next;
    await old.send(`REPLICAOF 127.0.0.1 ${new URL(next.url).port}`);
  };
  return { url: `redis://127.0.0.1:${port}`, failOver };
}

test("A3 after a failover by name hints go over the new primary, also to processes that started since", async ({
  onTestFinished,
}) => {
  const { url, failOver } = await startNamed(onTestFinished);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const open = () => {
    const hints = createHints(
      { backend: "redis", url },
      { onError: () => undefined, later: () => undefined },
    );
    onTestFinished(() => hints.close());
    const heard = new Set<string>();
    hints.subscribe((message) => {
      if (message.type === "watched") for (const id of message.jobIds) heard.add(id);
    });
    return { hints, heard };
  };
  const stayed = open();
  const reaches = async (from: typeof stayed, to: typeof stayed, id: string) =>
    vi.waitUntil(
      () => {
        vi.advanceTimersByTime(10_000);
        from.hints.publish({ type: "watched", jobIds: [id], wantsLatest: false });
        return to.heard.has(id);
      },
      { timeout: 10_000, interval: 100 },
    );
  await reaches(stayed, stayed, "before");
  await failOver();
  const started = open();
  await reaches(stayed, started, "to the new one");
  await reaches(started, stayed, "to the old one");
  expect(started.heard).not.toContain("before");
});

test("A3 after a failover by name bells ring at the new primary, although the old one stays as a replica", async ({
  onTestFinished,
}) => {
  const { url, failOver } = await startNamed(onTestFinished);
  const bells = createBells({ backend: "redis", url }, { onError: () => undefined });
  onTestFinished(() => bells.close());
  const heard: string[] = [];
  const consumer = bells.consume(queue, 1, async ({ jobId }) => void heard.push(jobId));
  await bells.ring(queue, [bellOf("before")]);
  await vi.waitUntil(() => heard.includes("before"), { timeout: 10_000 });
  await failOver();
  const ring = () =>
    bells.ring(queue, [bellOf("after")]).then(
      () => true,
      () => false,
    );
  await vi.waitUntil(ring, { timeout: 20_000, interval: 100 });
  await vi.waitFor(() => expect(heard).toContain("after"), { timeout: 30_000 });
  await consumer.close();
});

test("A3 with Redis away since the start bells fail at once; when it comes they ring, and no connection is left over", async ({
  onTestFinished,
}) => {
  const redis = await startRedis();
  onTestFinished(() => redis.destroy());
  await redis.stop();
  let failures = 0;
  const bells = createBells({ backend: "redis", url: redis.url }, { onError: () => (failures += 1) });
  const heard: string[] = [];
  const consumer = bells.consume(queue, 1, async ({ jobId }) => void heard.push(jobId));
  const ring = (id: string) =>
    bells.ring(queue, [bellOf(id)]).then(
      () => true,
      () => false,
    );
  // The consumer has failed to connect more than once by then.
  await vi.waitUntil(() => failures > 10, { timeout: 20_000, interval: 50 });
  for (const id of ["first", "second", "third"]) expect(await ring(id)).toBe(false);
  await redis.start();
  await vi.waitUntil(() => ring("late"), { timeout: 20_000, interval: 100 });
  await vi.waitUntil(() => heard.includes("late"), { timeout: 20_000 });
  await consumer.close();
  await bells.close();
  const countClients = async () =>
    Number(/connected_clients:(\d+)/.exec(await redis.send("INFO clients"))?.[1]);
  // The one that asks.
  await vi.waitUntil(async () => (await countClients()) === 1, { timeout: 20_000, interval: 100 });
});
