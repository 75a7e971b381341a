import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import { expect } from "vitest";
import { schema } from "@atelier/server/db";
import { orderChain, type ProviderName } from "@atelier/server/providers";
import { waitUntil } from "../../scripts/process/tools.ts";
import { forCases } from "../cases/index.ts";
import { readJob, until } from "../jobs/index.ts";
import type { LineState } from "../network/index.ts";
import { openCloudScene, readAttempts } from "./cloud-scene.ts";
import { eventually } from "./scene.ts";

const silent = { isSilent: true } as const;
const slow = { bytesPerSecond: 1_000 } as const;

/** What a line does, one state after the other. */
const faults: readonly (readonly [name: string, states: readonly LineState[], forMs: number])[] = [
  ["cut", [{ isCut: true }], 3_000],
  ["silent", [{ toServer: silent, toClient: silent }], 3_000],
  ["late answers", [{ toClient: silent }], 3_000],
  ["lost answers", [{ toClient: silent }, { isCut: true }], 1_500],
  ["2 s late", [{ toServer: { delayMs: 2_000 } }], 4_000],
  ["1 kB a second", [{ toServer: slow, toClient: slow }], 4_000],
  ["reset in the middle of answers", [{ resetAfterBytes: 100 }], 3_000],
];

interface Case {
  readonly provider: ProviderName;
  readonly model: string;
  /** A second provider of the model, whose line is well: what the first one may have must not go to it. */
  readonly second: ProviderName | null;
  /** How a job may end. */
  readonly ends: readonly string[];
}

const either = ["completed", "provider_unknown"];
const replicate: Case = {
  provider: "replicate",
  model: "nano-banana",
  second: "fal",
  ends: ["completed"],
};
const higgsfield: Case = { provider: "higgsfield", model: "soul", second: null, ends: ["completed"] };
const fal: Case = { provider: "fal", model: "nano-banana", second: "replicate", ends: either };
const google: Case = { provider: "google", model: "nano-banana", second: "replicate", ends: either };

forCases(
  "F20 F3 R1 the line to $provider is cut, silent, one-way, late, slow and reset: each job ends, nothing is paid twice",
  { usual: [], others: [replicate, higgsfield, fal, google] },
  async ({ provider, model, second, ends }, { onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, {
      keys: second === null ? [provider] : [provider, second],
      webhooks: true,
      behindLine: provider,
    });
    const { services, line } = scene;
    if (second !== null) await orderChain(services.db, model, [provider, second]);
    const simulator = scene.providers.simulators[provider];
    const worker = await scene.startCloudWorker({ config: "wideCloud" });
    const prompts = new Map<string, string>();
    const submitSome = async (fault: string) => {
      for (let count = 0; count < 2; count += 1) {
        const prompt = `${fault}, picture ${prompts.size + 1}.`;
        prompts.set(await scene.generate(prompt, { model }), prompt);
      }
    };
    for (const [fault, states, forMs] of faults) {
      const before = simulator.submits.length;
      await submitSome(fault);
      await waitUntil(() => simulator.submits.length > before, 20_000);
      for (const state of states) {
        line?.set(state);
        // Some come while the line is as it is.
        await submitSome(fault);
        await sleep(forMs);
      }
      line?.set({});
    }
    const { jobs, providerAttempts } = schema;
    const open = sql`${jobs.status} not in ('completed', 'failed', 'cancelled')`;
    expect(await waitUntil(async () => (await services.db.$count(jobs, open)) === 0, 200_000)).toBe(true);
    for (const [id, prompt] of prompts) {
      const { status, errorCode } = await readJob(services, id);
      const charged = scene.chargedFor(prompt);
      expect([prompt, ends]).toEqual([prompt, expect.arrayContaining([errorCode ?? status])]);
      expect([prompt, status === "completed" ? charged : Math.max(1, charged)]).toEqual([prompt, 1]);
    }
    // No slot of the provider stays taken.
    const taken = sql`${providerAttempts.state} in ('submitting', 'unknown', 'accepted')`;
    expect(await services.db.$count(providerAttempts, taken)).toBe(0);
    expect(await worker.term()).toBe(0);
    expect(await scene.faults()).toEqual([]);
  },
);

/** Each provider that is asked for the end of a run, with a model that it is the only one to make here. */
const asked = {
  usual: [],
  others: [
    { provider: "replicate", request: { model: "flux-2-pro" } },
    { provider: "kie", request: { model: "nano-banana-edit", kind: "edit" } },
    { provider: "fal", request: { model: "z-image-turbo" } },
    { provider: "higgsfield", request: { model: "soul" } },
    { provider: "fashn", request: { model: "background-remove", kind: "remove_background", params: {} } },
  ],
} as const;

forCases(
  "F20 R6 answers of $provider that are pages of a proxy, and results that are such pages or cannot be fetched, cost no picture that is paid",
  asked,
  async ({ provider, request }, { onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: [provider] });
    const simulator = scene.providers.simulators[provider];
    simulator.end = "never";
    simulator.pictureFault = "refuse";
    await scene.startCloudWorker();
    const inputs = "kind" in request ? { inputs: { image: scene.owner.imageId } } : {};
    const id = await scene.generate("a page", { ...request, ...inputs });
    await eventually(async () => (await readAttempts(scene, id))[0]?.state, "accepted");
    simulator.getFault = "garbage";
    for (const run of simulator.runs.values()) simulator.finish(run, "succeeded");
    const { providerAttempts } = schema;
    const isAskedOften = sql`${providerAttempts.polls} >= 6`;
    await eventually(() => scene.services.db.$count(providerAttempts, isAskedOften), 1);
    simulator.getFault = null;
    for (const fault of ["refuse", "garbage"] as const) {
      simulator.pictureFault = fault;
      const before = simulator.fetches;
      await eventually(() => simulator.fetches >= before + 2, true);
    }
    simulator.pictureFault = null;
    await until(scene.services, id, "completed");
    expect(simulator.charged()).toHaveLength(1);
    expect(await readAttempts(scene, id)).toMatchObject([{ provider, state: "succeeded" }]);
  },
);
