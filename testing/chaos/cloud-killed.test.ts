import { sql } from "drizzle-orm";
import { expect } from "vitest";
import { schema } from "@atelier/server/db";
import type { ProviderName } from "@atelier/server/providers";
import { waitUntil } from "../../scripts/process/tools.ts";
import { forCases } from "../cases/index.ts";
import { addEndpoint, countUndelivered, startWebhookReceiver } from "../deliveries/index.ts";
import { readJob, untilAll } from "../jobs/index.ts";
import type { PictureFault, ProviderFault } from "../providers/index.ts";
import type { PausePoint, TestWorker } from "../worker/index.ts";
import { type CloudScene, openCloudScene, readAttempts } from "./cloud-scene.ts";
import { eventually } from "./scene.ts";

/** Where the worker dies: at a point of its own, or while the provider does this. */
interface Step {
  readonly when: string;
  readonly pauseAt?: PausePoint;
  readonly fault?: ProviderFault;
  readonly pictureFault?: PictureFault;
}

const steps = {
  claimed: { when: "after the claim", pauseAt: "claimed" },
  reserved: { when: "before the call", pauseAt: "reserved" },
  called: { when: "during the call, not taken", fault: "hang" },
  taken: { when: "during the call, taken", fault: "mute" },
  answered: { when: "before the hand-over", pauseAt: "answered" },
  asked: { when: "while it asks for the end", pauseAt: "asked" },
  fetching: { when: "during the fetch of the result", pictureFault: "half" },
  stored: { when: "before the job is completed", pauseAt: "stored" },
  completed: { when: "after the job was completed", pauseAt: "completed" },
} as const satisfies Record<string, Step>;

type StepName = keyof typeof steps;

interface Case {
  readonly provider: ProviderName;
  /** How the studio learns of a lost call. */
  readonly by: "its list" | "a webhook" | "the idempotency key" | "nothing";
  readonly step: StepName;
  readonly end: "completed" | "provider_unknown";
  /** Pictures that the provider charges. */
  readonly paid: 0 | 1;
  readonly attempts: readonly string[];
}

const listed = { provider: "replicate", by: "its list", end: "completed", paid: 1 } as const;
const reported = { provider: "fal", by: "a webhook", end: "completed", paid: 1 } as const;
const repeated = { provider: "higgsfield", by: "the idempotency key", end: "completed", paid: 1 } as const;
const direct = { provider: "google", by: "nothing", end: "provider_unknown" } as const;
const once = ["succeeded"];
const lost = ["lost"];

/** A lost call that can be found, one that cannot, and what is done after the payment. */
const usual: readonly Case[] = [
  { ...listed, step: "called", attempts: ["unsent", "succeeded"] },
  { ...direct, step: "taken", paid: 1, attempts: lost },
  { ...listed, step: "completed", attempts: once },
];

/**
 * Each provider at the steps that differ for it. The studio's rows are the same before the call and during one that was not taken, so
 * the second stands for both but where the list tells; what comes after the completion knows no provider.
 */
const others: readonly Case[] = [
  { ...repeated, step: "taken", attempts: once },
  { ...listed, step: "fetching", attempts: once },
  ...(["claimed", "taken", "asked", "stored"] as const).map((step) => ({
    ...listed,
    step,
    attempts: once,
  })),
  { ...reported, step: "answered", attempts: once },
  { ...listed, step: "answered", attempts: once },
  { ...listed, step: "reserved", attempts: ["unsent", "succeeded"] },
  { ...reported, step: "taken", attempts: once },
  { ...reported, step: "called", end: "provider_unknown", paid: 0, attempts: lost },
  ...(["called", "answered"] as const).map((step) => ({ ...repeated, step, attempts: once })),
  { ...direct, step: "called", paid: 0, attempts: lost },
  { ...direct, step: "answered", paid: 1, attempts: lost },
  { ...direct, step: "stored", paid: 1, attempts: lost },
];

const models: Partial<Record<ProviderName, string>> = {
  replicate: "nano-banana",
  fal: "nano-banana",
  google: "nano-banana",
  higgsfield: "soul",
};

type OnFinished = Parameters<typeof openCloudScene>[0];

/** Longer than a lost call is looked for (`reconcileS`), with the recovery of the worker before. */
const patienceMs = 60_000;

/** A scene in which one provider is known, and a receiver waits for what is told about the jobs. */
async function open(onFinished: OnFinished, { provider, by }: Case) {
  const receiver = await startWebhookReceiver();
  onFinished(() => receiver.close());
  // Nothing listens there, so that the list alone can tell.
  const address: Record<string, string> = by === "its list" ? { APP_URL: "http://127.0.0.1:9" } : {};
  const scene = await openCloudScene(onFinished, {
    keys: [provider],
    webhooks: by === "a webhook",
    env: { ALLOWED_PRIVATE_HOSTS: "127.0.0.1", ...address },
  });
  await addEndpoint(scene.services, scene.owner, `${receiver.url}/hook`);
  return { scene, receiver };
}

/** Kills the worker at the step; everything works again after it. */
async function killAt(scene: CloudScene, { provider, step: name }: Case): Promise<string> {
  const step: Step = steps[name];
  const simulator = scene.providers.simulators[provider];
  simulator.fault = step.fault ?? null;
  simulator.pictureFault = step.pictureFault ?? null;
  const pauseAt = step.pauseAt ? [step.pauseAt] : [];
  const doomed = await scene.startCloudWorker({ name: "doomed", pauseAt });
  // Only a picture that is fetched shows that the job is claimed and not yet reserved.
  const request =
    name === "claimed"
      ? { kind: "edit", model: "nano-banana-edit", inputs: { image: scene.owner.imageId } }
      : {};
  const id = await scene.generate("a lighthouse", { model: models[provider], ...request });
  await reached(doomed, step, { called: () => simulator.submits.length, fetched: () => simulator.fetches });
  if (step.fault === "mute") await eventually(() => simulator.charged().length, 1);
  await doomed.kill9();
  simulator.fault = null;
  simulator.pictureFault = null;
  return id;
}

async function reached(
  worker: TestWorker,
  { pauseAt, fault }: Step,
  { called, fetched }: { readonly called: () => number; readonly fetched: () => number },
): Promise<void> {
  if (pauseAt) await worker.waitFor(new RegExp(`paused ${pauseAt}`));
  else await eventually(fault ? called : fetched, 1);
}

const named = (cases: readonly Case[]) => cases.map((each) => ({ ...each, when: steps[each.step].when }));

forCases(
  "F3 F7 R1 a worker killed $when ($provider, lost calls found by $by): $end, charged $paid times, told once",
  { usual: named(usual), others: named(others) },
  async (given, { onTestFinished }) => {
    const { scene, receiver } = await open(onTestFinished, given);
    const { services } = scene;
    const id = await killAt(scene, given);
    await scene.startCloudWorker({ name: "other" });
    const isCompleted = given.end === "completed";
    const statuses = [isCompleted ? ("completed" as const) : ("failed" as const)];
    const [job] = await untilAll(services, [id], { statuses, patienceMs });
    expect(job?.errorCode).toBe(isCompleted ? null : given.end);
    // Besides a failure, only a death before the provider was asked counts against the job.
    expect(job?.charged).toBe(given.step === "claimed" || !isCompleted ? 1 : 0);
    expect(scene.chargedFor("a lighthouse")).toBe(given.paid);
    const attempts = await readAttempts(scene, id);
    expect(attempts.map((attempt) => attempt.class ?? attempt.state)).toEqual(given.attempts);
    const isTold = async () => (await countUndelivered(services, scene.owner.userId)) === 0;
    expect(await waitUntil(isTold, patienceMs)).toBe(true);
    expect(receiver.received.filter(({ body }) => body.includes(id))).toHaveLength(1);
    const { deliveries } = schema;
    expect(await services.db.$count(deliveries, sql`${deliveries.jobId} = ${id}`)).toBe(1);
    expect(await scene.faults()).toEqual([]);
    expect((await readJob(services, id)).status).toBe(job?.status);
  },
);
