import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { schema } from "@atelier/server/db";
import type { Need } from "@atelier/server/engines";
import { addNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { type FollowInput, followNode, startAdminRequests } from "./node.ts";
import { createReadiness, startReadinessWatch } from "./readiness.ts";
import { createRuns } from "./runs.ts";
import type { ServerState } from "./servers/index.ts";
import { startWatchOver } from "./watch-over.ts";

let opened: TestServices;
afterAll(() => opened.close());

describe("node", () => {
  beforeAll(async () => {
    opened = await createTestServices();
  });

  const url = "http://127.0.0.1:8188";
  const need: Need = "comfyui/t2i_sd15";
  const turns = 40;

  type Seen = { state: string; isOffered: boolean };
  const readSeen = `
  select s.state, '${need}' = any(q.needs) as "isOffered"
  from engine_servers s join node_queues q on q.node_id = s.node_id`;

  function serverState(address: string, isUp: boolean): ServerState {
    return {
      url: address,
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
      loras: [],
      lists: {},
      missing: {},
      tightNeeds: [],
      choices: new Map(),
      ranges: new Map(),
      jobId: null,
      loadedNeeds: [],
      isFree: isUp,
      queueLength: 0,
      lastError: null,
      refusesConnections: false,
      probedAt: null,
    };
  }

  /** A node with one server, which goes up and down. */
  function createFickleServer(): Pick<FollowInput, "pool" | "offer"> & { turn(isUp: boolean): void } {
    const listeners = new Set<() => void>();
    const listen = (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    };
    let isUp = false;
    const capability = { cores: 1, memoryBytes: 1, gpus: [], engines: [], kinds: [] };
    const server = () => serverState(url, isUp);
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
        const [row] = await services.db.execute<Seen>(readSeen);
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

  test("D4 probes that change nothing write nothing, and a change of one server is one statement", async () => {
    const { services } = opened;
    await services.db.delete(schema.nodes);
    await addNode(services);
    const [node] = await services.db.select().from(schema.nodes);
    if (!node) throw new Error("the node is missing");
    const fickle = createFickleServer();
    let servers = Array.from({ length: 10 }, (_, at) => serverState(`http://gpu-${at}:8188`, true));
    const listeners = new Set<() => void>();
    const pool: FollowInput["pool"] = {
      list: () => servers,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const consumers = { follow: () => undefined, claimNow: () => undefined };
    const { offer } = fickle;
    const loop = followNode(services, { offer, pool, consumers, incarnation: { current: () => node } });
    const change = (next: ServerState[]) => {
      servers = next;
      for (const listener of listeners) listener();
    };
    const countDown = async () => {
      const result = await services.db.execute<{ down: number }>(
        "select count(*)::int as down from engine_servers where state = 'down' having count(*) >= 0",
      );
      return result[0]?.down;
    };
    await vi.waitUntil(
      async () => (await services.db.$count(schema.engineServers)) === servers.length,
      5_000,
    );
    // Safe: drizzle keeps the client that it was given here.
    const { $client: client } = services.db as unknown as { $client: { query(statement: unknown): unknown } };
    const statements = vi.spyOn(client, "query");
    const writes = () =>
      statements.mock.calls.filter(([query]) =>
        /insert into "engine_servers"/.test(JSON.stringify(query).replaceAll("\\", "")),
      ).length;
    const startedMs = performance.now();
    for (let probe = 0; probe < 50; probe += 1) {
      change(servers.map((server) => ({ ...server, probedAt: new Date() })));
      await new Promise(setImmediate);
    }
    change(servers.map((server, at) => (at === 0 ? { ...server, state: "down" } : server)));
    await vi.waitUntil(async () => (await countDown()) === 1, 5_000);
    const refreshes = Math.ceil((performance.now() - startedMs) / services.config.timing.probeMs);
    await loop.stop();
    expect(writes()).toBeGreaterThan(0);
    expect(writes()).toBeLessThanOrEqual(1 + refreshes);
    statements.mockRestore();
  });

  const readNode = async (id: string) =>
    (await opened.services.db.select().from(schema.nodes)).find((node) => node.id === id);

  async function addedNode() {
    const node = await readNode(await addNode(opened.services));
    if (!node) throw new Error("the node is missing");
    return node;
  }

  test("R4 a worker claims at each sweep, so that a job needs no bell", async () => {
    const { services } = opened;
    const node = await addedNode();
    let claims = 0;
    const timing = { ...services.config.timing, sweepMs: 20 };
    const loops = startWatchOver(
      { ...services, config: { ...services.config, timing } },
      {
        incarnation: { current: () => node, stop: () => Promise.resolve() },
        runs: createRuns(),
        claimNow: () => void (claims += 1),
      },
    );
    try {
      await vi.waitFor(() => expect(claims).toBeGreaterThan(2));
    } finally {
      await Promise.all(loops.map((loop) => loop.stop()));
    }
  });

  test("F30 a node says that its disk is almost full, and takes it back when there is space", async () => {
    const { services } = opened;
    const { limits, timing } = services.config;
    timing.cancelPollMs = 20;
    const node = await addedNode();
    const refused = { what: "a_workflow", reason: "Another node has one of this name." };
    await services.db.update(schema.nodes).set({ problems: [refused] });
    const problems = async () => (await readNode(node.id))?.problems;
    const readiness = createReadiness(services);
    const floor = limits.minFreeBytes;
    limits.minFreeBytes = Number.MAX_SAFE_INTEGER;
    const watching = startReadinessWatch(services, { readiness, incarnation: { current: () => node } });
    try {
      const full = { what: "Disk space", reason: expect.stringMatching(/^Only \d+ MB are free/) };
      await vi.waitFor(async () => expect(await problems()).toEqual([refused, full]));
      expect(readiness.isReady()).toBe(false);
      limits.minFreeBytes = floor;
      await vi.waitFor(async () => expect(await problems()).toEqual([refused]));
      expect(readiness.isReady()).toBe(true);
    } finally {
      limits.minFreeBytes = floor;
      await watching.stop();
    }
  });

  test("F30 a node whose disk became read-only claims nothing, and says so until it can be written again", async () => {
    const { services } = opened;
    services.config.timing.cancelPollMs = 20;
    const node = await addedNode();
    const folder = path.resolve(services.env.ATELIER_DATA_DIR, "tmp");
    await mkdir(folder, { recursive: true });
    // It has its space, and takes no file.
    await rename(folder, `${folder}-away`);
    await writeFile(folder, "");
    const readiness = createReadiness(services);
    const watching = startReadinessWatch(services, { readiness, incarnation: { current: () => node } });
    try {
      const reason = "The data folder of this worker cannot be read or written.";
      const problems = async () => (await readNode(node.id))?.problems;
      await vi.waitFor(async () => expect(await problems()).toEqual([{ what: "Disk space", reason }]));
      expect(readiness.isReady()).toBe(false);
      await rm(folder);
      await rename(`${folder}-away`, folder);
      await vi.waitFor(async () => expect(await problems()).toEqual([]));
      expect(readiness.isReady()).toBe(true);
      expect((await readdir(folder)).filter((name) => name.startsWith("."))).toEqual([]);
    } finally {
      await watching.stop();
    }
  });

  test("F30 a node without space claims nothing, and takes up its queues again when there is space", async () => {
    const { services } = opened;
    services.config.timing.cancelPollMs = 20;
    const node = await addedNode();
    let isEnough = false;
    let isActive: boolean | null = null;
    const requests = startAdminRequests(services, {
      incarnation: { current: () => node },
      offer: { setSettings: () => undefined },
      pool: { setDrained: () => undefined },
      consumers: {
        setActive(next) {
          isActive = next;
        },
      },
      readiness: { isReady: () => isEnough },
      onRetire: () => undefined,
    });
    try {
      await vi.waitFor(() => expect(isActive).toBe(false));
      isEnough = true;
      await vi.waitFor(() => expect(isActive).toBe(true));
    } finally {
      await requests.stop();
    }
  });
});
