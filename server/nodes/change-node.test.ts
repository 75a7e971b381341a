import { eq } from "drizzle-orm";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { changeNode } from "./change-node.ts";
import type { SeenServer } from "./write-servers.ts";

const { engineServers } = schema;

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

const seen = (url: string, changes: Partial<SeenServer> = {}): SeenServer => ({
  url,
  engine: "comfyui",
  label: url.slice("http://".length),
  state: "healthy",
  needs: ["comfyui/t2i_sd15"],
  missing: {},
  sources: ["COMFYUI_URLS"],
  ...changes,
});

const readRows = (nodeId: string) =>
  opened.services.db
    .select()
    .from(engineServers)
    .where(eq(engineServers.nodeId, nodeId))
    .orderBy(engineServers.url);

test("A10 D4 rows of a node's servers follow what it sees and leave other nodes alone", async () => {
  const { services } = opened;
  const [nodeId, other] = [await addNode(services), await addNode(services)];
  await changeNode(services, { nodeId: other, servers: [seen("http://a:1")] });
  await changeNode(services, {
    nodeId,
    servers: [seen("http://a:1"), seen("http://b:1", { queueLength: 2 })],
  });
  const [first] = await readRows(nodeId);
  const probedAt = new Date();
  await changeNode(services, {
    nodeId,
    servers: [seen("http://a:1", { vramFreeBytes: 5 * 2 ** 30, probedAt })],
  });
  const [second, ...rest] = await readRows(nodeId);
  expect(rest).toEqual([]);
  expect(second).toMatchObject({ vramFreeBytes: 5 * 2 ** 30, probedAt, changedAt: first?.changedAt });
  const down = seen("http://a:1", { state: "down", lastError: "It cannot be reached.", needs: [] });
  await changeNode(services, { nodeId, servers: [down] });
  const [third] = await readRows(nodeId);
  expect(third).toMatchObject({ state: "down", needs: [], lastError: "It cannot be reached." });
  expect(third?.changedAt.getTime()).toBeGreaterThan(first?.changedAt.getTime() ?? Infinity);
  await changeNode(services, { nodeId, servers: [] });
  expect(await readRows(nodeId)).toEqual([]);
  expect(await readRows(other)).toHaveLength(1);
});
