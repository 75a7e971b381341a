import { expect } from "vitest";
import { schema } from "@atelier/server/db";
import { type Backend, forCases } from "../cases/index.ts";
import type { TestWorkerOptions } from "../worker/index.ts";
import { deploy, openStudio } from "./deploy.ts";
import { eventually, openScene } from "./scene.ts";

/** The grace time of `steady` is the product's own 30 s; its tests run in `pnpm bench:chaos`. */
const graces =
  process.env["ATELIER_CHAOS"] === "long" ? (["shortGrace", "steady"] as const) : (["shortGrace"] as const);
const casesOf = (backend: Backend) => graces.map((config) => ({ backend, config }));
const cases = { usual: casesOf("postgres"), others: casesOf("redis") };

forCases(
  "F32 A17 a later version beside this one on $backend ($config): no job fails, and clients are told each event once",
  cases,
  async ({ backend, config }, { onTestFinished }) => {
    const scene = await openScene(onTestFinished, { backend });
    const { services } = scene;
    const studio = await openStudio(scene, onTestFinished);
    const start = (name: string, options: TestWorkerOptions) =>
      scene.startWorker({ config, name, ...options });
    // One that ends its jobs within the grace time, for which a slow machine needs the product's own, and one that does not.
    const oldWorkers = await Promise.all([
      start("old-1", { slots: 2, script: { runMs: 1_500 }, config: "steady" }),
      start("old-2", { script: { hang: true } }),
    ]);
    await studio.submit(6);
    await Promise.all(oldWorkers.map((worker) => worker.waitFor(/engine-start/)));
    await eventually(() => studio.viewer.streams() > 0, true);
    const before = studio.viewer.streams();

    const startNewWorkers = () =>
      Promise.all(["new-1", "new-2"].map((name) => start(name, { script: { runMs: 300 } })));
    expect(await deploy(scene, studio, { oldWorkers, startNewWorkers })).toEqual([0, 0]);

    expect(await studio.findWrong()).toEqual([]);
    // The test has seen what it is about: streams that were cut, a run that was handed back, and both versions at work.
    expect(studio.viewer.streams()).toBeGreaterThan(before);
    expect([...studio.readers.values()].filter((reader) => reader.streams() > 1).length).toBeGreaterThan(0);
    const handedBack = await services.db.query.jobEvents.findMany({
      where: (event, { eq }) => eq(event.type, "handed_back"),
    });
    expect(handedBack).toHaveLength(1);
    const states = async () => {
      const nodes = await services.db.select().from(schema.nodes);
      return Object.fromEntries(nodes.map(({ name, state }) => [name, state]));
    };
    await eventually(states, { "old-1": "gone", "old-2": "gone", "new-1": "active", "new-2": "active" });
    const nodes = await services.db.select().from(schema.nodes);
    const processedBy = (prefix: string) =>
      nodes.reduce((sum, { name, processed }) => sum + (name.startsWith(prefix) ? processed : 0), 0);
    expect(processedBy("old")).toBeGreaterThan(0);
    expect(processedBy("new")).toBeGreaterThan(0);
    expect(await scene.faults()).toEqual([]);
  },
);
