import { addJob, addNode, addOwner, addServer, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import type { Need } from "../engines.ts";
import type { HintMessage } from "../queue/index.ts";
import { claim, complete, start } from "./claimed.ts";
import { callHolders, type Offer } from "./offers.ts";

const queue = "gpu-high";
const [sdxl, flux]: readonly [Need, Need] = ["comfyui/t2i_sdxl", "comfyui/t2i_flux1_split"];
const { jobs } = schema;

let opened: TestServices;
let owner: TestOwner;

beforeAll(async () => {
  opened = await createTestServices();
  owner = await addOwner(opened.services);
});
afterAll(() => opened.close());
beforeEach(async () => {
  await opened.services.db.delete(jobs);
  await opened.services.db.delete(schema.nodes);
});

/** A node with one server, which has this model loaded. */
async function addCard(loaded: Need | null, needs: readonly Need[] = [sdxl, flux]) {
  const { services } = opened;
  const nodeId = await addNode(services, { queue, needs });
  const url = `http://${nodeId}:8188`;
  await addServer(services, { nodeId, url, needs, loadedNeeds: loaded ? [loaded] : [] });
  const offers = needs.map((need): Offer => ({ need, servers: [url], mustLoad: need !== loaded }));
  return { nodeId, queue, offers };
}

/** A row of the window that entered it so long ago. */
async function addQueued(need: Need, queuedAgoMs: number): Promise<string> {
  const { services } = opened;
  const id = await addJob(services, { owner, queue });
  const queuedAt = sql`clock_timestamp() - ${queuedAgoMs} * interval '1 millisecond'`;
  await services.db.update(jobs).set({ need, status: "queued", queuedAt }).where(eq(jobs.id, id));
  return id;
}

test("D12 a card takes the job of its model before one that entered the window up to ten seconds earlier", async () => {
  const { services } = opened;
  const card = await addCard(sdxl);
  const [older, own] = [await addQueued(flux, 30_000), await addQueued(sdxl, 21_000)];
  expect((await claim(services, card))?.id).toBe(own);
  expect((await claim(services, card))?.id).toBe(older);
});

test("D12 a job that waited longer than that is next, whatever model the card has", async () => {
  const { services } = opened;
  const card = await addCard(sdxl);
  const [older] = [await addQueued(flux, 30_000), await addQueued(sdxl, 19_000)];
  expect((await claim(services, card))?.id).toBe(older);
});

test("D12 a higher tier goes before a loaded model", async () => {
  const { services } = opened;
  const card = await addCard(sdxl);
  const [high] = [await addQueued(flux, 3_000), await addQueued(sdxl, 3_000)];
  await services.db.update(jobs).set({ tier: 3 }).where(eq(jobs.id, high));
  expect((await claim(services, card))?.id).toBe(high);
});

test("D12 a new job is left to a free card that has its model, which is called and takes it", async () => {
  const { services } = opened;
  const [other, holder] = [await addCard(flux), await addCard(sdxl)];
  const id = await addQueued(sdxl, 500);
  const called: HintMessage[] = [];
  const hints = {
    ...services.hints,
    publish: (message: unknown) => void called.push(message as HintMessage),
  };
  expect(await claim(services, other)).toBeNull();
  const leftMs = await callHolders({ ...services, hints }, other);
  expect(leftMs).toBeGreaterThan(0);
  expect(leftMs).toBeLessThanOrEqual(1_500);
  expect(called).toEqual([{ type: "loaded", queue, nodeIds: [holder.nodeId] }]);
  expect((await claim(services, holder))?.id).toBe(id);
  expect(await callHolders(services, other)).toBeNull();
});

test.each([
  ["after two seconds", () => Promise.resolve(), 2_100],
  ["whose holder runs another job", runOnHolder, 500],
  ["that ran before", () => opened.services.db.update(jobs).set({ attempt: 1, charged: 1 }), 500],
  ["whose holder is down", () => opened.services.db.update(schema.engineServers).set({ state: "down" }), 500],
  [
    "whose holder beats no more",
    () => opened.services.db.update(schema.nodes).set({ seenAt: new Date(0) }),
    500,
  ],
] as const)("D12 a job %s is left to nobody", async (_what, change, queuedAgoMs) => {
  const { services } = opened;
  const [other] = [await addCard(flux), await addCard(sdxl)];
  const id = await addQueued(sdxl, queuedAgoMs);
  await change();
  expect((await claim(services, other))?.id).toBe(id);
});

async function runOnHolder(): Promise<void> {
  const { services } = opened;
  const [server] = await services.db
    .select()
    .from(schema.engineServers)
    .where(sql`${sdxl} = any(loaded_needs)`);
  const running = await addQueued(flux, 0);
  await services.db
    .update(jobs)
    .set({ status: "processing", nodeId: server?.nodeId ?? null })
    .where(eq(jobs.id, running));
}

test("D12 E7 twelve cards race for twenty jobs of two models: each once, none is left over", async () => {
  const { services } = opened;
  const cards = await Promise.all(Array.from({ length: 12 }, (_, at) => addCard(at % 2 === 0 ? sdxl : flux)));
  const ids: string[] = [];
  for (let at = 0; at < 20; at += 1) ids.push(await addQueued(at % 3 === 0 ? flux : sdxl, 0));
  const begun: string[] = [];
  const work = async (card: (typeof cards)[number]) => {
    for (let job = await claim(services, card); job; job = await claim(services, card)) {
      begun.push(job.id);
      const lease = { jobId: job.id, attempt: job.attempt, nodeId: card.nodeId };
      await start(services, lease);
      await complete(services, { lease, outputs: [], facts: {} });
    }
  };
  const isDone = async () => {
    await Promise.all(cards.map(work));
    return begun.length;
  };
  await expect.poll(isDone, { timeout: 10_000 }).toBe(20);
  expect(begun.toSorted()).toEqual(ids.toSorted());
  for (const id of ids)
    expect(await readJob(services, id)).toMatchObject({ status: "completed", attempt: 1 });
});
