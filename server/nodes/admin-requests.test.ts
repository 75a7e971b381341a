import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { claim } from "@atelier/server/jobs";
import { addJob, addNode, localOffers, readJob, testQueue } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { openAccount } from "@atelier/testing/services";
import { resolveCaller } from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { changeNode } from "./offer.ts";
import {
  changeNodeSettings,
  drainNode,
  drainServer,
  nodeSettingsSchema,
  readAdminRequests,
  resumeNode,
  resumeServer,
  requestStop,
} from "./admin-requests.ts";
import { closeDoors } from "./presence.ts";
import { register, type Registration } from "./register.ts";

const scene = openJobScene();

async function readNode(id: string) {
  const { nodes } = schema;
  const [node] = await scene.services.db.select().from(nodes).where(eq(nodes.id, id));
  return node;
}

test("D9 a drained node claims nothing, and claims again once it is resumed; both can be pressed twice", async () => {
  const { services } = scene;
  const id = await addNode(services);
  const jobId = await addJob(services, { owner: scene.owner });
  const ask = () => claim(services, { nodeId: id, queue: testQueue, offers: localOffers });
  await Promise.all([drainNode(services, { id }), drainNode(services, { id })]);
  expect(await drainNode(services, { id })).toEqual({ state: "draining" });
  expect(await ask()).toBeNull();
  expect((await readJob(services, jobId)).status).toBe("queued");
  await resumeNode(services, { id });
  expect(await resumeNode(services, { id })).toEqual({ queues: [testQueue] });
  expect((await ask())?.id).toBe(jobId);
});

test("D9 a node that leaves by itself, or is retired, cannot be resumed, whatever comes first", async () => {
  const { services } = scene;
  for (const end of [
    async (id: string) => {
      await drainNode(services, { id });
      await closeDoors(services, id);
    },
    async (id: string) => {
      await closeDoors(services, id);
      await drainNode(services, { id });
    },
    async (id: string) => {
      await drainNode(services, { id });
      await requestStop(services, { id });
    },
  ]) {
    const id = await addNode(services);
    await end(id);
    await expect(resumeNode(services, { id })).rejects.toMatchObject({ code: "conflict" });
    expect((await readNode(id))?.state).toBe("draining");
  }
});

test("D9 of a resume and a leave at the same moment, the node never ends up active after it left", async () => {
  const { services } = scene;
  for (let round = 0; round < 20; round += 1) {
    const id = await addNode(services);
    await drainNode(services, { id });
    await Promise.allSettled([resumeNode(services, { id }), closeDoors(services, id)]);
    expect(await readNode(id)).toMatchObject({ state: "draining", drainRequested: false });
  }
});

test("an unknown node is not found and one that ended is a conflict", async () => {
  const { services } = scene;
  const gone = await addNode(services, { state: "gone" });
  const settings = { slots: { [testQueue]: 2 } };
  for (const act of [
    (id: string) => drainNode(services, { id }),
    (id: string) => resumeNode(services, { id }),
    (id: string) => changeNodeSettings(services, { id, settings }),
  ]) {
    await expect(act(newId())).rejects.toMatchObject({ code: "not_found" });
    await expect(act(gone)).rejects.toMatchObject({ code: "conflict" });
  }
  await expect(requestStop(services, { id: newId() })).rejects.toMatchObject({ code: "not_found" });
  await requestStop(services, { id: gone });
  expect(await readNode(gone)).toMatchObject({ state: "gone", retireRequested: false });
});

test("D4 what an admin asks of a node reaches its orders and the incarnation after it", async () => {
  const { services } = scene;
  const registration: Registration = {
    name: `kept-${newId().slice(-6)}`,
    identity: { hostname: "test", bootId: "test", pid: 1, pidStartedAt: "0" },
    capability: { cores: 2, memoryBytes: 1, gpus: [], kinds: [], engines: [] },
    queues: [],
    inherits: true,
  };
  const node = await register(services, registration);
  const settings = nodeSettingsSchema.parse({ slots: { [testQueue]: 0 }, kinds: ["upscale"] });
  await changeNodeSettings(services, { id: node.id, settings });
  await drainNode(services, { id: node.id });
  expect(await readAdminRequests(services, node.id)).toMatchObject({ settings, retireRequested: false });
  const again = await register(services, { ...registration, replaces: node.id });
  expect(again).toMatchObject({ state: "draining", drainRequested: true, settings });
  const another = await register(services, { ...registration, name: "another" });
  expect(another).toMatchObject({ state: "active", settings: {} });
  await services.db.update(schema.nodes).set({ state: "gone" }).where(eq(schema.nodes.id, again.id));
  const restarted = await register(services, registration);
  expect(restarted).toMatchObject({ state: "active", drainRequested: false, settings });
  const { id } = restarted;
  const from = (bootId: string) => ({ ...registration, identity: { ...registration.identity, bootId } });
  const neighbour = await register(services, from("another"));
  expect(neighbour).toMatchObject({ name: `${node.name}-2`, settings: {} });
  await services.db
    .update(schema.nodes)
    .set({ seenAt: new Date(0) })
    .where(eq(schema.nodes.id, id));
  expect(await register(services, from("a third"))).toMatchObject({ name: `${node.name}-3`, settings });
});

test("D9 a drained server is an order to every node that sees it, until it is resumed", async () => {
  const { services } = scene;
  const account = await openAccount(services, "admin@example.com");
  const adminId = (await resolveCaller(services, account.headers))?.userId ?? "";
  const url = "http://gpu.test:8188";
  await expect(drainServer(services, { url, adminId })).rejects.toMatchObject({ code: "not_found" });
  const nodeId = await addNode(services);
  const server = { url, engine: "comfyui", label: "gpu.test:8188", state: "healthy" } as const;
  await changeNode(services, { nodeId, servers: [{ ...server, needs: [], missing: {}, sources: [] }] });
  await Promise.all([drainServer(services, { url, adminId }), drainServer(services, { url, adminId })]);
  expect((await readAdminRequests(services, nodeId))?.drainedServers).toEqual(new Set([url]));
  await resumeServer(services, { url });
  await resumeServer(services, { url });
  expect((await readAdminRequests(services, nodeId))?.drainedServers).toEqual(new Set());
});
