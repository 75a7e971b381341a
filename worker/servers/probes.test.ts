import { afterEach, describe, expect, test, vi } from "vitest";
import { builtInWorkflows } from "@atelier/server/workflows";
import { startComfySimulator } from "@atelier/testing/comfyui";
import { type StandIn, startStandIn } from "./fixtures/stand-in.ts";
import { createObjectInfoCache } from "./believed.ts";
import { createComfyuiProbe } from "./probes.ts";

describe("probe comfyui", () => {
  const { signal } = new AbortController();
  const need = "comfyui/t2i_sd15";
  let server: StandIn;
  afterEach(() => server.kill());

  const probeOf = ({ url }: StandIn, objectInfoMs: number) =>
    createComfyuiProbe({
      server: { url, headers: {}, query: "" },
      workflows: builtInWorkflows,
      awaited: () => new Set(),
      timeoutMs: 10_000,
      objectInfoMs,
    });

  test("A10 a server that failed once to describe its nodes is asked again by the next probe", async () => {
    server = await startStandIn({ objectInfoStatus: 500 });
    const probe = probeOf(server, 60_000);
    expect((await probe.read(signal)).needs).not.toContain(need);
    server.objectInfoStatus = 200;
    expect((await probe.read(signal)).needs).toContain(need);
  });

  test("A10 what a server said of its nodes holds while it fails to describe them", async () => {
    server = await startStandIn();
    const probe = probeOf(server, 0);
    expect((await probe.read(signal)).needs).toContain(need);
    server.objectInfoStatus = 500;
    expect((await probe.read(signal)).needs).toContain(need);
  });
});

test("A10 a server that was started again with other models is read again at once, though no probe saw it away", async () => {
  const server = await startComfySimulator();
  const { signal } = new AbortController();
  const probe = createComfyuiProbe({
    server: { url: server.url, headers: {}, query: "" },
    workflows: builtInWorkflows,
    awaited: () => new Set(),
    timeoutMs: 10_000,
    objectInfoMs: 300_000,
  });
  let backs = 0;
  const unlisten = probe.listen(() => (backs += 1));
  try {
    await vi.waitUntil(() => server.stats().sockets === 1);
    expect((await probe.read(signal)).needs).toContain("comfyui/t2i_sd15");
    server.setModels({});
    // Without a break what was read is believed.
    expect((await probe.read(signal)).needs).toContain("comfyui/t2i_sd15");
    await server.restart();
    await vi.waitUntil(() => backs === 1);
    expect((await probe.read(signal)).needs).not.toContain("comfyui/t2i_sd15");
  } finally {
    unlisten();
    await server.close();
  }
});

describe("probes", () => {
  test("A10 what a server said of a class is believed for one version and a limited time", async () => {
    const asked: string[] = [];
    let nowMs = 0;
    const cache = createObjectInfoCache({
      ttlMs: 1_000,
      isAwaited: () => false,
      now: () => nowMs,
      read: async (name) => {
        asked.push(name);
        return name === "Unknown" ? null : { output: [name] };
      },
    });
    const get = async (classes: string[], version = "1") => {
      asked.length = 0;
      const found = await cache.get(classes, version, new AbortController().signal);
      return { asked: asked.toSorted(), found: [...found] };
    };
    const all = ["A", "B", "Unknown"];
    const found = [
      ["A", { output: ["A"] }],
      ["B", { output: ["B"] }],
      ["Unknown", null],
    ];
    expect(await get(all)).toEqual({ asked: all, found });
    nowMs = 999;
    expect(await get([...all, "C"])).toMatchObject({ asked: ["C"] });
    nowMs = 1_000;
    expect(await get([...all, "C"])).toMatchObject({ asked: all });
    expect(await get(all, "2")).toEqual({ asked: all, found });
    cache.clear();
    expect(await get(["A"], "2")).toMatchObject({ asked: ["A"] });
  });

  test("A10 a class that open jobs wait for is read again after 20 seconds, the others after their own time", async () => {
    const asked: string[] = [];
    const awaited = new Set<string>();
    let nowMs = 0;
    const cache = createObjectInfoCache({
      ttlMs: 300_000,
      isAwaited: (name) => awaited.has(name),
      now: () => nowMs,
      read: async (name) => {
        asked.push(name);
        return null;
      },
    });
    const get = () => cache.get(["A", "B"], "1", new AbortController().signal);
    await get();
    awaited.add("B");
    nowMs = 19_999;
    await get();
    expect(asked.splice(0).toSorted()).toEqual(["A", "B"]);
    nowMs = 20_000;
    await get();
    expect(asked).toEqual(["B"]);
  });
});
