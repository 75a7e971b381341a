import { schema } from "@atelier/server/db";
import type { Need } from "@atelier/server/engines";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { followNode, type FollowInput } from "./follow-node.ts";
import type { ServerState } from "./servers/index.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());

const url = "http://127.0.0.1:8188";
const need: Need = "comfyui/t2i_sd15";
const turns = 40;

type Seen = { state: string; isOffered: boolean };
const readSeen = `
  select s.state, '${need}' = any(q.needs) as "isOffered"
  from engine_servers s join node_queues q on q.node_id = s.node_id`;

/** A node with one server, which goes up and down. */
function createFickleServer(): Pick<FollowInput, "pool" | "offer"> & { turn(isUp: boolean): void } {
  const listeners = new Set<() => void>();
  const listen = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  let isUp = false;
  const capability = { cores: 1, memoryBytes: 1, gpus: [], engines: [], kinds: [] };
  const server = (): ServerState => ({
    url,
    engine: "comfyui",
    label: "server",
    sources: [],
    state: isUp ? "healthy" : "down",
    device: "cpu",
    deviceName: null,
    vramTotalBytes: null,
    vramFreeBytes: null,
    version: null,
    needs: [need],
    models: [],
    missing: {},
    jobId: null,
    isFree: isUp,
    queueLength: 0,
    lastError: null,
    probedAt: null,
  });
  const offers = () => (isUp ? [{ need, servers: [url] }] : []);
  return {
    pool: { list: () => [server()], onChange: listen },
    offer: {
      current: () => ({
        capability,
        queues: [{ queue: "cpu-light", slots: offers().length, offers: offers() }],
        localSlots: 0,
      }),
      onChange: listen,
    },
    turn(next) {
      isUp = next;
      for (const listener of listeners) listener();
    },
  };
}

test("A10 D3 a server is seen healthy when jobs can be placed on it, and at no other moment", async () => {
  const { services } = opened;
  await addNode(services);
  const [node] = await services.db.select().from(schema.nodes);
  if (!node) throw new Error("the node is missing");
  const fickle = createFickleServer();
  const consumers = { follow: () => undefined, claimNow: () => undefined };
  const loop = followNode(services, { ...fickle, incarnation: { current: () => node }, consumers });
  const seen = new Set<string>();
  const wrong: unknown[] = [];
  try {
    let isUp = true;
    fickle.turn(isUp);
    for (let turn = 0; turn < turns;) {
      const [row] = (await services.db.execute<Seen>(readSeen)).rows;
      if (!row) continue;
      seen.add(row.state);
      if ((row.state === "healthy") !== row.isOffered) wrong.push(row);
      if (row.isOffered !== isUp) continue;
      isUp = !isUp;
      fickle.turn(isUp);
      turn += 1;
    }
  } finally {
    await loop.stop();
  }
  expect(wrong).toEqual([]);
  expect(seen).toEqual(new Set(["healthy", "down"]));
});
