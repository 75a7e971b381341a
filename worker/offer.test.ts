import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { gateModel, readyGate } from "@atelier/server/gate";
import { modelPath } from "@atelier/server/models";
import { addTinyGateModel } from "@atelier/testing/content-gate";
import { captureLog } from "@atelier/testing/services";
import { describe, expect, test } from "vitest";
import type { EngineName, JobKind } from "@atelier/server/engines";
import { type ConfigInput, inspectEnv, parseConfig, parseEnv } from "@atelier/server/platform";
import { builtInWorkflows } from "@atelier/server/workflows";
import type { Engine } from "./engines/index.ts";
import { chooseLightQueue, computeOffer, type OfferInput, parseGpus, parseOnly } from "./offer.ts";
import { createLiveOffer, toSeen } from "./live-offer.ts";
import type { ServerState } from "./servers/index.ts";

describe("choose queues", () => {
  const machine = { cores: 4, memoryBytes: 8 * 1024 ** 3, gpus: [] };

  test("D3 a machine's lightest queue is the one that asks for the least of those that it satisfies", () => {
    const queues = { light: { minCores: 1 }, middle: { minCores: 2 }, cards: { minVramGib: 8 } };
    expect(chooseLightQueue(parseConfig({ queues }), machine)).toBe("light");
    const demanding = { "large-memory": { minMemoryGib: 64 }, cores: { minCores: 4 } };
    expect(chooseLightQueue(parseConfig({ queues: demanding }), machine)).toBe("cores");
    expect(chooseLightQueue(parseConfig({ queues: { first: {}, last: {} } }), machine)).toBe("last");
    expect(chooseLightQueue(parseConfig({ queues: { cards: { minVramGib: 8 } } }), machine)).toBeNull();
  });
});

describe("offer", () => {
  const gib = 1024 ** 3;

  function engineOf(name: EngineName, kinds: readonly JobKind[]): Engine {
    return { name, kinds, run: () => Promise.resolve([]), close: () => Promise.resolve() };
  }
  const local = engineOf("local", ["upscale", "inpaint"]);
  const comfyui = engineOf("comfyui", ["text_to_image"]);

  function server(change: Partial<ServerState>): ServerState {
    return {
      url: "http://127.0.0.1:8188",
      engine: "comfyui",
      label: "127.0.0.1:8188",
      sources: ["static"],
      state: "healthy",
      device: "cuda",
      deviceName: "Card",
      vramTotalBytes: 24 * gib,
      vramFreeBytes: 24 * gib,
      version: "0.8.0",
      needs: ["comfyui/t2i_sd15"],
      models: [],
      loras: [],
      lists: {},
      missing: {},
      tightNeeds: [],
      choices: new Map(),
      ranges: new Map(),
      jobId: null,
      loadedNeeds: [],
      isFree: true,
      queueLength: 0,
      lastError: null,
      refusesConnections: false,
      probedAt: null,
      ...change,
    };
  }

  test("all LoRAs and checkpoints of a server are stored, also of one with thousands", () => {
    const loras = Array.from({ length: 3_000 }, (_, at) => `${at}.safetensors`);
    expect(toSeen(server({ loras })).loras).toEqual(loras);
    const lists = { "CheckpointLoaderSimple.ckpt_name": loras };
    expect(toSeen(server({ lists })).lists).toEqual(lists);
  });

  interface Change extends Partial<Omit<OfferInput, "config" | "env">> {
    readonly env?: Readonly<Record<string, string>>;
    readonly config?: ConfigInput;
  }

  const offerWith = (change: Change) => computeOffer(inputWith(change));

  function inputWith({ env: settings = {}, config = {}, ...change }: Change): OfferInput {
    const { env } = parseEnv(settings);
    if (!env) throw new Error("wrong settings of the test");
    const engines = change.engines ?? [local, comfyui];
    return {
      env,
      config: parseConfig(config),
      machine: { cores: 4, memoryBytes: 8 * gib, gpus: [] },
      engines,
      workflows: builtInWorkflows,
      servers: [],
      settings: {},
      cloud: { models: [], providers: [], keys: [] },
      only: parseOnly(env, engines),
      ...change,
    };
  }

  const needsOn = (offer: ReturnType<typeof offerWith>, queue: string) =>
    offer.queues.find((one) => one.queue === queue)?.offers.map(({ need }) => need);

  describe("A9 what a worker offers", () => {
    test("is all that its engines can do, or only the kinds that it is narrowed to", () => {
      expect(needsOn(offerWith({}), "cpu-light")).toEqual(["local/upscale", "local/inpaint"]);
      expect(needsOn(offerWith({ env: { WORKER_ONLY: "upscale" } }), "cpu-light")).toEqual(["local/upscale"]);
      expect(offerWith({ env: { WORKER_ONLY: "upscale" } }).capability.kinds).toEqual(["upscale"]);
    });

    test("names its keys of providers also without a model for them, whose runs it still follows", () => {
      const keys = [{ provider: "fal", keyId: "k" }] as const;
      const { capability, queues } = offerWith({ cloud: { models: [], providers: ["fal"], keys } });
      expect(capability).toMatchObject({ providerKeys: keys });
      expect(capability).not.toHaveProperty("providers");
      expect(queues.map(({ queue }) => queue)).not.toContain("cloud");
    });

    test("S5 is no kind that the gate could not look at here, until its model is there and whole", async () => {
      const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-offer-gate-"));
      try {
        const config = { safety: { refuseResults: { upscale: 0.8 } } };
        const env = { ATELIER_DATA_DIR: folder };
        const offered = () => needsOn(offerWith({ env, config }), "cpu-light");
        const ready = () =>
          readyGate({ env: inspectEnv(env).env, config: parseConfig(config), log: captureLog().log });
        await ready();
        expect(offered()).toEqual(["local/inpaint"]);
        const file = modelPath(env, gateModel);
        await mkdir(path.dirname(file), { recursive: true });
        await writeFile(file, "no model");
        await ready();
        expect(offered()).toEqual(["local/inpaint"]);
        await addTinyGateModel(env);
        await ready();
        expect(offered()).toEqual(["local/upscale", "local/inpaint"]);
        await rm(file);
        expect(offered()).toEqual(["local/inpaint"]);
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    test("is as many jobs at once as it is told to", () => {
      expect(offerWith({ env: { WORKER_CPU_SLOTS: "3" } }).queues).toMatchObject([{ slots: 3 }]);
    });

    test("never is a kind that no engine here can run: it is refused by name", () => {
      expect(() => offerWith({ env: { WORKER_ONLY: "upscale,edit" } })).toThrow(/edit.*Known: /);
    });
  });

  test("D12 what a claim may take says which models have to be loaded, now and after the runs alike", () => {
    const needs = ["comfyui/t2i_sd15", "comfyui/t2i_sdxl"] as const;
    const offered = [
      { need: needs[0], servers: [server({}).url] },
      { need: needs[1], servers: [server({}).url], mustLoad: true },
    ];
    const liveWith = (change: Partial<ServerState>) =>
      createLiveOffer({
        ...inputWith({ engines: [comfyui] }),
        pool: {
          list: () => [server({ needs, ...change })],
          mustLoad: (need) => need !== needs[0],
          onChange: () => () => undefined,
        },
        runs: { countOfEngine: () => 0, unbegun: () => [] },
        hasRoom: () => false,
      });
    const [idle, busy] = [liveWith({}), liveWith({ jobId: "one", isFree: false })];
    expect(idle.freeOffers("gpu-high")).toEqual(offered);
    expect([busy.freeOffers("gpu-high"), busy.offers("gpu-high")]).toEqual([[], offered]);
  });

  describe("D3 D4 queues by capability", () => {
    test("a node with cards subscribes to one class of cards, that of its best server, and to one CPU class", () => {
      const servers = [server({}), server({ url: "http://b", vramTotalBytes: 6 * gib })];
      const offer = offerWith({ servers });
      expect(offer.queues.map(({ queue, slots }) => [queue, slots])).toEqual([
        ["gpu-high", 2],
        ["cpu-light", 2],
      ]);
      const medium = offerWith({ servers: [server({ vramTotalBytes: 6 * gib })] });
      expect(medium.queues[0]?.queue).toBe("gpu-medium");
    });

    test("a larger machine serves the more demanding CPU class", () => {
      const offer = offerWith({ machine: { cores: 16, memoryBytes: 32 * gib, gpus: [] } });
      expect(offer.queues).toMatchObject([{ queue: "cpu-intensive", slots: 8 }]);
    });

    test("a server without a card serves the CPU class", () => {
      const offer = offerWith({ servers: [server({ device: "cpu" })] });
      expect(needsOn(offer, "cpu-light")).toContain("comfyui/t2i_sd15");
      expect(offer.queues).toMatchObject([{ queue: "cpu-light", slots: 3 }]);
    });

    test("A10 without a usable server the queue of cards stays but offers nothing", () => {
      const offer = offerWith({ servers: [server({ state: "down" })] });
      expect(offer.queues[0]).toEqual({ queue: "gpu-high", slots: 0, offers: [] });
    });

    test("A10 a server that only ends its job takes no place away from the others, and offers nothing", () => {
      const servers = [server({ state: "draining", jobId: "one" }), server({ url: "http://127.0.0.1:8189" })];
      const [cards] = offerWith({ servers }).queues;
      expect(cards).toMatchObject({ slots: 2, offers: [{ servers: ["http://127.0.0.1:8189"] }] });
      const [idle] = offerWith({ servers: [server({ state: "draining" })] }).queues;
      expect(idle).toMatchObject({ slots: 0, offers: [] });
    });

    test("a queue may ask for models and narrow to kinds", () => {
      const queues = {
        flux: { minVramGib: 8, models: ["flux.safetensors"] },
        cpu: { kinds: ["inpaint" as const] },
      };
      expect(needsOn(offerWith({ config: { queues }, servers: [server({})] }), "flux")).toEqual([]);
      const fitting = offerWith({ config: { queues }, servers: [server({ models: ["flux.safetensors"] })] });
      expect(needsOn(fitting, "flux")).toEqual(["comfyui/t2i_sd15"]);
      expect(needsOn(fitting, "cpu")).toEqual(["local/inpaint"]);
    });

    test("an admin changes slots and kinds of a node", () => {
      const offer = offerWith({ settings: { slots: { "cpu-light": 7 }, kinds: ["inpaint"] } });
      expect(offer.queues).toMatchObject([{ slots: 7, offers: [{ need: "local/inpaint" }] }]);
    });

    test("the cards of the machine are read from nvidia-smi", () => {
      expect(parseGpus("NVIDIA GeForce RTX 4090, 24564\nTesla T4, 15360\n\nrubbish\n")).toEqual([
        { name: "NVIDIA GeForce RTX 4090", vramBytes: 24564 * 1024 ** 2 },
        { name: "Tesla T4", vramBytes: 15360 * 1024 ** 2 },
      ]);
    });
  });
});
