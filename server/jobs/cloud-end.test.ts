import { eq, sql } from "drizzle-orm";
import { beforeEach, expect, test } from "vitest";
import { addNode, addOwner, readJob } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { type AttemptState, schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { attemptsOf, readSpend } from "../providers/index.ts";
import { purgeUser } from "../users/purge.ts";
import { cancel } from "./cancel.ts";
import { sweep } from "./sweep.ts";

const scene = openJobScene({ isEmptied: true });
const { jobs, nodes, providerAttempts } = schema;
/** Longer than a run waits for a worker with its key, and shorter. */
const [longMinutes, shortMinutes] = [25 * 60, 23 * 60];
const minutesAgo = (minutes: number) => sql`now() - make_interval(mins => ${minutes})`;

beforeEach(() => scene.services.db.delete(providerAttempts));

interface Run {
  readonly state?: AttemptState;
  /** Since its deadline; a negative one is to come. */
  readonly overMinutes?: number;
  readonly ownerId?: string;
}

/** A job whose run a provider has, or may have, with key `old`. */
async function addRun({
  state = "accepted",
  overMinutes = longMinutes,
  ownerId = scene.owner.userId,
}: Run = {}) {
  const { db } = scene.services;
  const [id, attemptId] = [newId(), newId()];
  const what = { ownerId, model: "nano-banana" } as const;
  const row = { ...what, id, kind: "text_to_image", tier: 1, params: { prompt: "a still pond" } } as const;
  const at = { queue: "cloud", engine: "cloud", need: "cloud/nano-banana", status: "processing" } as const;
  await db.insert(jobs).values({ ...row, ...at, attempt: 1, providerAttemptId: attemptId });
  const names = { provider: "fal", keyId: "old", endpoint: "e", token: newId(), priceUsd: 0.5 };
  const times = { deadlineAt: minutesAgo(overMinutes), nextPollAt: minutesAgo(overMinutes) };
  await db.insert(providerAttempts).values({ ...what, ...names, ...times, id: attemptId, jobId: id, state });
  return id;
}

interface Worker {
  readonly keyId?: string;
  readonly state?: "active" | "draining" | "lost" | "gone";
  readonly upMinutes?: number;
  readonly seenMinutes?: number;
}

async function addWorker({ keyId, state = "active", upMinutes = 70, seenMinutes = 0 }: Worker) {
  const { db } = scene.services;
  const providers = keyId === undefined ? [] : ["fal"];
  const id = await addNode(scene.services, {
    queue: "cloud",
    needs: ["cloud/nano-banana"],
    providers,
    state,
  });
  const keys = JSON.stringify(keyId === undefined ? [] : [{ provider: "fal", keyId }]);
  const capability = sql`capability || jsonb_build_object('providerKeys', ${keys}::jsonb)`;
  const startedAt = minutesAgo(upMinutes);
  await db
    .update(nodes)
    .set({ capability, startedAt, seenAt: minutesAgo(seenMinutes) })
    .where(eq(nodes.id, id));
}

/** The job and its attempt after a sweep. */
async function swept(id: string) {
  await sweep(scene.services);
  const [attempt] = await attemptsOf(scene.services.db, id);
  return [(await readJob(scene.services, id)).status, attempt?.state];
}

test.each(["accepted", "unknown"] as const)(
  "E4 R6 a run (%s) whose key the operator has replaced ends a day after its deadline, at its price",
  async (state) => {
    const { services } = scene;
    await addWorker({ keyId: "new" });
    const [old, late] = [await addRun({ state }), await addRun({ state, overMinutes: shortMinutes })];
    expect([await swept(old), await swept(late)]).toEqual([
      ["failed", "failed"],
      ["processing", state],
    ]);
    expect(await readJob(services, old)).toMatchObject({ errorCode: "provider_unknown" });
    const [attempt] = await attemptsOf(services.db, old);
    expect(attempt).toMatchObject({ errorClass: "lost", costUsd: null, nextPollAt: null, finishToken: null });
    expect(attempt?.endedAt).not.toBeNull();
    await services.db.delete(providerAttempts).where(eq(providerAttempts.jobId, late));
    expect(await readSpend(services.db, services.config, null)).toMatchObject({ monthUsd: 0.5 });
  },
);

test.each<[string, readonly Worker[]]>([
  ["a worker holds its key", [{ keyId: "old" }]],
  ["a worker that takes no more jobs holds its key", [{ keyId: "new" }, { keyId: "old", state: "draining" }]],
  [
    "the machine with its key is off for the night",
    [{ keyId: "new" }, { keyId: "old", state: "gone", seenMinutes: shortMinutes }],
  ],
  ["all workers have just come back", [{ keyId: "new", upMinutes: 5 }]],
  ["the others are away", [{ keyId: "new", seenMinutes: 5 }]],
])("R6 a run is not given up while %s", async (_name, workers) => {
  for (const worker of workers) await addWorker(worker);
  expect(await swept(await addRun())).toEqual(["processing", "accepted"]);
});

test("R6 a run that a follower with a key holds is not given up, nor is a call under way", async () => {
  await addWorker({ keyId: "new" });
  const [held, calling] = [await addRun(), await addRun({ state: "submitting" })];
  const taken = { finishToken: newId(), finishUntil: minutesAgo(-3) };
  await scene.services.db.update(providerAttempts).set(taken).where(eq(providerAttempts.jobId, held));
  expect(await swept(held)).toEqual(["processing", "accepted"]);
  // Its process is gone, so it is looked for first.
  expect(await swept(calling)).toEqual(["processing", "unknown"]);
});

test("D6 a job whose run has a key that no worker holds is cancelled at once, also by the removal of its owner", async () => {
  const { services } = scene;
  await addWorker({ keyId: "new", upMinutes: 1 });
  const id = await addRun({ overMinutes: -10 });
  await cancel(services, { ownerId: scene.owner.userId, id });
  expect(await swept(id)).toEqual(["cancelled", "accepted"]);
  const { userId: ownerId } = await addOwner(services);
  await addRun({ overMinutes: -10, ownerId });
  await services.db
    .update(schema.users)
    .set({ banned: true, deletedAt: sql`now()` })
    .where(eq(schema.users.id, ownerId));
  const purge = () => purgeUser(services, ownerId, AbortSignal.timeout(10_000));
  expect(await purge()).toBe(false);
  await sweep(services);
  expect(await purge()).toBe(true);
});

test("D6 a job whose run a worker can ask about is left to it", async () => {
  const { services } = scene;
  await addWorker({ keyId: "old", state: "draining" });
  const id = await addRun();
  await cancel(services, { ownerId: scene.owner.userId, id });
  expect(await swept(id)).toEqual(["processing", "accepted"]);
});
