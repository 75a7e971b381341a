import { desc, eq, inArray } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testOrigin } from "@atelier/testing/services";
import { resolveCaller } from "../../accounts/index.ts";
import { openStatuses, schema } from "../../db/index.ts";
import { AppError } from "../../platform/index.ts";
import { type ClientScene, endJob, openClientScene } from "./fixtures/scene.ts";
import { type Order, placeOrder } from "./orders.ts";

const { idempotencyKeys, jobs } = schema;
const openJobs = 6;
let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene({}, { config: { limits: { openJobs } } });
}, 120_000);
afterAll(() => scene.close());

const order: Order = {
  kind: "text_to_image",
  choice: null,
  params: { prompt: "a house" },
  pictures: [],
  count: 4,
  maxPriceUsd: 0,
  sessionId: "openai",
};

async function place(key: string, change: Partial<Order> = {}): Promise<readonly string[]> {
  const { services, session } = scene;
  const caller = await resolveCaller(services, session);
  if (!caller) throw new Error("nobody is signed in");
  const request = new Request(`${testOrigin}/v1`, { headers: { "idempotency-key": key } });
  const input = { services, caller, request, startedAtMs: 0, params: {}, query: {} };
  const { ids, giveBack } = await placeOrder(input, { ...order, ...change });
  giveBack();
  return ids;
}

const openIds = async () => {
  const rows = await scene.services.db
    .select({ id: jobs.id })
    .from(jobs)
    .where(inArray(jobs.status, openStatuses));
  return rows.map(({ id }) => id).toSorted();
};
async function endAll() {
  for (const id of await openIds()) await endJob(scene.services, id, "completed");
}

test.each(["openai", "sdapi", "mcp"])(
  "F4 an order of %s that is refused in part is made whole under its key as soon as it can be",
  async (sessionId) => {
    await endAll();
    const others = await place(`others ${sessionId}`);
    const ask = () => place("half", { sessionId });
    for (const _try of [1, 2]) await expect(ask()).rejects.toMatchObject({ code: "quota_exceeded" });
    // No job of the refused order runs on.
    expect(await openIds()).toEqual(others.toSorted());
    await endAll();
    const ids = await ask();
    expect(await openIds()).toEqual(ids.toSorted());
    expect(await ask()).toEqual(ids);
    expect(await openIds()).toHaveLength(4);
  },
);

test("F4 requests with one key at the same time that are refused leave neither jobs nor keys", async () => {
  await endAll();
  await place("others at once");
  for (const _round of Array(20)) {
    const asked = await Promise.allSettled([1, 2, 3].map(() => place("at once")));
    expect(asked.map(({ status }) => status)).toEqual(Array(3).fill("rejected"));
    expect(await openIds()).toHaveLength(4);
  }
  await endAll();
  const ids = await place("at once");
  expect(await openIds()).toEqual(ids.toSorted());
});

test("F4 a request that is taken back keeps its hands off the jobs of another one with the same key", async () => {
  await endAll();
  let kept: readonly string[] = [];
  const isTaken = async () => {
    if (kept.length > 0) throw new AppError("bad_request", "The client has left.");
    kept = await place("shared");
  };
  await expect(place("shared", { requireWanted: isTaken })).rejects.toMatchObject({ code: "bad_request" });
  expect(await openIds()).toEqual(kept.toSorted());
  expect(await place("shared")).toEqual(kept);
});

test("F4 what was taken back by its client is made anew when that asks again", async () => {
  await endAll();
  let count = 0;
  const leaves = async () => {
    count += 1;
    if (count === 2) throw new AppError("bad_request", "The client has left.");
  };
  await expect(place("left", { requireWanted: leaves })).rejects.toMatchObject({ code: "bad_request" });
  expect(await openIds()).toEqual([]);
  const [newest] = await scene.services.db.select().from(jobs).orderBy(desc(jobs.id)).limit(1);
  expect(newest).toMatchObject({ status: "cancelled" });
  const keys = scene.services.db.$count(idempotencyKeys, eq(idempotencyKeys.jobId, newest?.id ?? ""));
  expect(await keys).toBe(0);
  const ids = await place("left");
  expect(await openIds()).toEqual(ids.toSorted());
});
