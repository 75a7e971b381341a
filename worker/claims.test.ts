import { schema } from "@atelier/server/db";
import type { Need } from "@atelier/server/engines";
import { dispatch, type Offer } from "@atelier/server/jobs";
import type { Bell, Bells } from "@atelier/server/queue";
import { addNode, addOwner, insertJob, readJob } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { consume, type ConsumeInput } from "./claims.ts";
import type { Engine } from "./engines/index.ts";
import { createRuns } from "./runs.ts";
import { createSharedServers } from "./shared-servers.ts";
import { createMutex } from "./work.ts";

const queue = "gpu-high";
const needs = ["comfyui/upscale_model", "comfyui/upscale_seedvr2_3b"] as const satisfies Need[];
const [model, other] = needs;

let opened: TestServices;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

/** Gives back the picture that it got. */
const engine: Engine = {
  name: "comfyui",
  kinds: ["upscale"],
  run: async ({ inputs }) => [{ path: String(inputs.image), mime: "image/png" }],
  close: () => Promise.resolve(),
};

interface TestClaimant {
  readonly id: string;
  answer(bell: Bell): Promise<void>;
}

/** A node with one server that has these models loaded, which claims as a worker does; the test decides which bells it gets. */
async function startNode(loaded: readonly Need[], rung: Bell[]): Promise<TestClaimant> {
  const { services } = opened;
  const id = await addNode(services, { queue, needs });
  const [node] = await services.db.select().from(schema.nodes).where(eq(schema.nodes.id, id));
  if (!node) throw new Error("the node is missing");
  const servers = [`http://${id}:8188`];
  const offers = needs.map((need): Offer => ({ need, servers, mustLoad: !loaded.includes(need) }));
  const capability = { cores: 2, memoryBytes: 1, gpus: [], kinds: [], engines: [] };
  const offer: ConsumeInput["offer"] = {
    current: () => ({ capability, queues: [{ queue, slots: 1, offers }], localSlots: 0 }),
    freeOffers: () => offers,
    offers: () => offers,
    otherServers: () => [],
    setSettings: () => undefined,
    refuse: () => undefined,
    onChange: () => () => undefined,
    close: () => undefined,
  };
  const asked = Promise.withResolvers<TestClaimant["answer"]>();
  const bells: Bells = {
    ...services.bells,
    ring: async (_queue, calls) => void rung.push(...calls),
    consume(_queue, _slots, onBell) {
      asked.resolve(onBell);
      return { setSlots: () => undefined, close: () => Promise.resolve() };
    },
  };
  const consumers = consume(
    { ...services, bells },
    {
      offer,
      engines: [engine],
      incarnation: { current: () => node, stop: () => Promise.resolve() },
      runs: createRuns(),
      readiness: { isReady: () => true },
      sharedServers: createSharedServers(services),
      claimLock: createMutex(),
    },
  );
  onTestFinished(() => consumers.close());
  return { id, answer: await asked.promise };
}

/** Nodes with these models, and a job that was rung for. */
async function openScene(fleet: readonly (readonly Need[])[]) {
  const { services } = opened;
  await services.db.delete(schema.jobs);
  await services.db.delete(schema.nodes);
  const rung: Bell[] = [];
  const nodes: TestClaimant[] = [];
  for (const loaded of fleet) nodes.push(await startNode(loaded, rung));
  const jobId = await insertJob(services, { owner: await addOwner(services), queue });
  await services.db
    .update(schema.jobs)
    .set({ need: model, engine: "comfyui" })
    .where(eq(schema.jobs.id, jobId));
  const ring: Bells["ring"] = async (_queue, calls) => void rung.push(...calls);
  await dispatch({ ...services, bells: { ...services.bells, ring } }, queue);
  /** The next bell, once it is rung. */
  const next = async (): Promise<Bell> => {
    await expect.poll(() => rung.length).toBe(1);
    const bell = rung.pop();
    if (!bell) throw new Error("no bell was rung");
    return bell;
  };
  return { nodes, next, job: () => readJob(services, jobId), rung };
}

test("D12 a bell goes on from free nodes that would load the model to the one that has it", async () => {
  const { nodes, next, job, rung } = await openScene([[other], [], [model]]);
  const passes: (number | undefined)[] = [];
  for (const node of nodes) {
    expect((await job()).status).toBe("queued");
    const bell = await next();
    passes.push(bell.passes);
    await node.answer(bell);
  }
  expect(await job()).toMatchObject({ status: "completed", nodeId: nodes[2]?.id });
  expect([passes, rung]).toEqual([[2, 1, 0], []]);
});

test("D12 the last node that a bell may reach claims the job, and loads its model", async () => {
  const { nodes, next, job, rung } = await openScene([[other], [other], []]);
  for (const node of nodes) await node.answer(await next());
  expect(await job()).toMatchObject({ status: "completed", nodeId: nodes[2]?.id });
  expect(rung).toEqual([]);
});

test("D12 a node that is alone passes nothing on", async () => {
  const { nodes, next, job } = await openScene([[other]]);
  const bell = await next();
  expect(bell.passes ?? 0).toBe(0);
  await nodes[0]?.answer(bell);
  expect(await job()).toMatchObject({ status: "completed", nodeId: nodes[0]?.id });
});

test("D12 with fifty free nodes a bell is passed on eight times at most", async () => {
  const { next } = await openScene(Array.from({ length: 50 }, () => []));
  expect((await next()).passes).toBe(8);
});
