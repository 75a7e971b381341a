import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../db/index.ts";
import { engines, jobKinds, requiredInputs } from "../engines.ts";
import { parseConfig, type ConfigInput } from "../platform/index.ts";
import { modelsOf } from "../providers/index.ts";
import { builtInWorkflows } from "../workflows/index.ts";
import { findCandidates, type PlaceRequest } from "./candidates.ts";
import { leastDemandingQueue } from "./downgrade.ts";
import { waitRangeOf } from "./seen.ts";
import { noteAccepted, recallPlaces, recallOutlooks } from "./snapshot.ts";

const least = (queues: ConfigInput["queues"]) => leastDemandingQueue(parseConfig({ queues }).queues);

test("D3 the lightest queue asks for the least, first of cards, then of cores, then of memory, wherever it is listed", () => {
  expect(least({ light: { minCores: 1 }, middle: { minCores: 2 }, cards: { minVramGib: 8 } })).toBe("light");
  expect(least({ small: { minMemoryGib: 4 }, large: { minMemoryGib: 64 } })).toBe("small");
  expect(least({ cards: { minVramGib: 0.001 }, cores: { minCores: 64, minMemoryGib: 256 } })).toBe("cores");
});

test("D3 of queues that ask for the same the last is the lightest", () => {
  expect(least({ first: {}, last: {} })).toBe("last");
  expect(least({})).toBeNull();
});

test("D3 places that could not be read are read again, and an accepted job meanwhile harms nothing", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const database = openDatabase({ url: "postgres://127.0.0.1:1/absent", applicationName: "places" });
  onTestFinished(() => database.close());
  const need = "local/upscale";
  const share = { ownerId: "one", tier: 1 };
  const unknown = { isMeasured: false, isOfQueue: false, waitRange: null };
  const cost = { meanMs: 1, varianceMs2: 0, runsMs: [], ...unknown };
  const read = () =>
    Promise.allSettled([
      recallPlaces(database.db, parseConfig({}), { needs: [need], maxAgeMs: 60_000 }),
      recallOutlooks(database.db, { share, queues: ["gpu-high"], needs: [need], maxAgeMs: 60_000 }),
    ]);
  const first = await read();
  noteAccepted(database.db, { queue: "gpu-high", need, cost, share, isQueued: true });
  await setImmediate();
  const second = await read();
  const reasons = [...first, ...second].map((read) => (read.status === "rejected" ? read.reason : null));
  expect(reasons).toEqual(Array(4).fill(expect.any(Error)));
  expect(new Set(reasons).size).toBe(4);
  expect(unhandled).toEqual([]);
});

test("D6 waits say nothing while no job of the queue has ended, however many have begun", () => {
  const begun = { sinceMs: 0, ms: 1_000, expectedMs: 1_000, toldMs: 1_000, isOver: true, queue: "gpu-high" };
  const waits = Array.from({ length: 40 }, () => begun);
  const run = { ms: 500, sizeClass: 0, queue: "gpu-high" };
  expect(waitRangeOf([{ runs: [], waits }], "gpu-high")).toBeNull();
  expect(waitRangeOf([{ runs: [run], waits }], "gpu-high")).toMatchObject({ low: 1, high: 1, slackMs: 50 });
});

// A configured model of a provider may have any kind.
const ownEngines = engines.filter(({ name }) => name !== "cloud");
const everyPair = ownEngines.flatMap(({ name, kinds }) =>
  jobKinds.map((kind) => ({ engine: name, kind, can: kinds.includes(kind) })),
);

test.each(everyPair)(
  "D3 the engine $engine for $kind: can $can, else refused at once",
  async ({ engine, kind, can }) => {
    const roles = new Set(requiredInputs(kind));
    const params = kind === "segment" ? { clicks: [], subject: true } : { scale: 2 };
    const find = () => findCandidates({ workflows: [], models: [] }, { kind, engine, params, roles });
    const refusal = `The engine "${engine}" cannot do this`;
    const answer = Promise.try(find).then(
      () => "found",
      ({ message }: Error) => message,
    );
    await expect(answer).resolves.toContain(can ? "found" : refusal);
  },
);

test("D3 a request that the local engine never takes is refused with the engines that do", () => {
  const upscale = { kind: "upscale", engine: "local", roles: new Set(["image"] as const) } as const;
  const find = (scale: number) =>
    findCandidates({ workflows: [], models: [] }, { ...upscale, params: { scale } });
  expect(find(2)).toMatchObject([{ need: "local/upscale" }]);
  expect(() => find(4)).toThrow("name comfyui or iopaint or cloud");
});

test("E1 a model keeps the providers that take the settings; one that none takes is refused with a sentence", () => {
  const models = modelsOf(parseConfig({}));
  const find = (params: object, model?: string) =>
    findCandidates(
      { workflows: [], models },
      { kind: "text_to_image", params: { prompt: "p", ...params }, roles: new Set(), model, engine: "cloud" },
    );
  const offers = (params: object) =>
    find(params, "z-image-turbo")[0]?.model?.offers.map(({ provider }) => provider);
  expect(offers({})).toEqual(["fal", "kie"]);
  expect(offers({ width: 512, height: 768 })).toEqual(["fal", "kie"]);
  expect(offers({ seed: 4 })).toEqual(["fal"]);
  expect(() => find({ seed: 4 }, "nano-banana")).toThrow(/"Nano Banana" takes no seed/);
  // Without a name, what is about how and not about what may be left out.
  expect(find({ steps: 20, guidance: 3 }).length).toBe(find({}).length);
});

test.each([
  ["a garment by itself", { subject: "garment" }, ["image"]],
  ["a colour behind it", { colour: "#ffffff" }, ["image"]],
  ["a picture behind it", {}, ["image", "background"]],
] as const)("D3 a cut-out with %s is made by this computer alone", (_title, params, roles) => {
  const find = (named: Partial<PlaceRequest>) =>
    findCandidates(
      { workflows: builtInWorkflows(), models: modelsOf(parseConfig({})) },
      { kind: "remove_background", params, roles: new Set(roles), ...named },
    ).map(({ need }) => need);
  expect(find({})).toEqual(["local/remove_background"]);
  expect(find({ engine: "local" })).toEqual(["local/remove_background"]);
  expect(() => find({ engine: "comfyui" })).toThrow(/Leave "engine" out, or name local/);
  expect(() => find({ workflow: "cutout_birefnet" })).toThrow(/Only this computer/);
  expect(find({ params: {}, roles: new Set(["image"]) }).length).toBeGreaterThan(2);
});

test("E1 an outfit whose garment is not told goes to no model that has to be told, unless it is told", () => {
  const models = modelsOf(parseConfig({}));
  const find = (category: string) =>
    findCandidates(
      { workflows: [], models },
      { kind: "outfit_change", params: { category }, roles: new Set(["person", "garment"]), engine: "cloud" },
    ).map(({ model }) => model?.id);
  expect(find("auto")).not.toContain("leffa-tryon");
  expect(find("bottom")).toContain("leffa-tryon");
  expect(find("bottom")).not.toContain("kolors-tryon");
});
