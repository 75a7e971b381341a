// @module-tag all
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { createBells, createHints } from "@atelier/server/queue";
import { openLine } from "../network/index.ts";
import { createTestDatabase } from "./index.ts";

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function createDatabase(): Promise<string> {
  const database = await createTestDatabase();
  closers.push(() => database.drop());
  return database.url;
}

test("A3 bells ring at an address that has options of its own, in a database of another isolation", async () => {
  const address = await createDatabase();
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  const name = new URL(address).pathname.slice(1);
  await client.query(`alter database ${name} set default_transaction_isolation = 'serializable'`);
  await client.end();
  const errors: Error[] = [];
  const bells = createBells(
    { backend: "postgres", url: `${address}?options=${encodeURIComponent("-c geqo=off")}` },
    { onError: (error) => errors.push(error) },
  );
  const heard: string[] = [];
  const consumers = Array.from({ length: 4 }, () =>
    bells.consume("cpu-light", 4, async ({ jobId }) => void heard.push(jobId)),
  );
  closers.push(() => bells.close(), ...consumers.map((consumer) => () => consumer.close()));
  const ids = Array.from({ length: 40 }, (_, at) => `job-${at}`);
  await Promise.all(ids.map((jobId) => bells.ring("cpu-light", [{ jobId, attempt: 0, ring: 1 }])));
  await expect.poll(() => heard.toSorted()).toEqual(ids.toSorted());
  expect(errors).toEqual([]);
});

test("A3 hints whose line fell silent without an end are heard again by a new connection", async () => {
  const address = await createDatabase();
  const line = await openLine(address);
  closers.push(() => line.close());
  const errors: string[] = [];
  const open = (url: string) => {
    const hints = createHints(
      { backend: "postgres", url },
      { onError: (error) => errors.push(error.message), later: () => undefined },
    );
    closers.push(() => hints.close());
    return hints;
  };
  const hearer = open(line.urlOf(address));
  const sender = open(address);
  const heard: unknown[] = [];
  hearer.subscribe((message) => heard.push(message));
  const send = () => sender.publish({ type: "server", url: "http://one" });
  const isHeard = async () => {
    const before = heard.length;
    send();
    await expect.poll(() => heard.length, { timeout: 1_000 }).toBeGreaterThan(before);
  };
  await expect
    .poll(() =>
      isHeard().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  // As behind a router that has forgotten the connection: its peers are told nothing, new ones work.
  line.forget();
  await expect.poll(() => errors.length).toBeGreaterThan(0);
  await expect
    .poll(() =>
      isHeard().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
});

test("A12 a subscription that a slow server answered too late is made anew, and its subscriber told", async () => {
  const address = await createDatabase();
  const line = await openLine(address);
  closers.push(() => line.close());
  const errors: string[] = [];
  const hints = createHints(
    { backend: "postgres", url: line.urlOf(address) },
    { onError: (error) => errors.push(error.message), later: () => undefined },
  );
  closers.push(() => hints.close());
  let heard = 0;
  hints.subscribe(() => (heard += 1));
  await expect
    .poll(() => {
      hints.publish({ type: "server", url: "http://one" });
      return heard;
    })
    .toBeGreaterThan(0);
  line.set({ toClient: { isSilent: true } });
  let told = 0;
  hints.subscribeLive(
    () => undefined,
    () => (told += 1),
  );
  await expect.poll(() => errors).toContain("Query read timeout");
  expect(told).toBe(0);
  line.set({});
  await expect.poll(() => told).toBeGreaterThan(0);
});

test.each([
  ["fell silent", { toServer: { isSilent: true }, toClient: { isSilent: true } }],
  ["is well", {}],
] as const)("A17 bells and hints over a line that %s end within seconds", async (_, state) => {
  const address = await createDatabase();
  const line = await openLine(address);
  closers.push(() => line.close());
  const connection = { backend: "postgres", url: line.urlOf(address) } as const;
  const onError = () => undefined;
  const hints = createHints(connection, { onError, later: () => undefined });
  const bells = createBells(connection, { onError });
  let heard = 0;
  hints.subscribe(() => (heard += 1));
  await bells.ring("cpu-light", [{ jobId: "one", attempt: 0, ring: 1 }]);
  await expect
    .poll(() => {
      hints.publish({ type: "server", url: "http://one" });
      return heard;
    })
    .toBeGreaterThan(0);
  line.set(state);
  // Not measured but raced: the timers of a process fire in their order, however long the machine stands still.
  const late = sleep(20_000, "late");
  const ended = Promise.all([hints.close(), bells.close()]).then(() => "ended");
  expect(await Promise.race([ended, late])).toBe("ended");
});
