import { addJob, addNode, addOwner, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import type { Need } from "../engines.ts";
import { claim, complete, start } from "./claimed.ts";
import type { Offer } from "./offers.ts";

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

test.each([
  [0, "loaded"],
  [5_000, "loaded"],
  [15_000, "older"],
] as const)(
  "D12 beside a job that needs a load and is %i ms older, the %s one goes first",
  async (earlierMs, first) => {
    const { services } = opened;
    const card = await addCard(sdxl);
    const ids = { older: await addQueued(flux, 30_000 + earlierMs), loaded: await addQueued(sdxl, 30_000) };
    const claimed = [(await claim(services, card))?.id, (await claim(services, card))?.id];
    expect(claimed[0]).toBe(ids[first]);
    expect(new Set(claimed)).toEqual(new Set(Object.values(ids)));
  },
);

test("D12 a card without the model takes a new job although a free card has it", async () => {
  const { services } = opened;
  const [other] = [await addCard(flux), await addCard(sdxl)];
  const id = await addQueued(sdxl, 0);
  expect((await claim(services, other))?.id).toBe(id);
});

test("D12 a higher tier goes before a loaded model", async () => {
  const { services } = opened;
  const card = await addCard(sdxl);
  const [high] = [await addQueued(flux, 3_000), await addQueued(sdxl, 3_000)];
  await services.db.update(jobs).set({ tier: 3 }).where(eq(jobs.id, high));
  expect((await claim(services, card))?.id).toBe(high);
});

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
  await Promise.all(cards.map(work));
  expect(begun.toSorted()).toEqual(ids.toSorted());
  for (const id of ids)
    expect(await readJob(services, id)).toMatchObject({ status: "completed", attempt: 1 });
});
