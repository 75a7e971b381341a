import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "@atelier/server/db";
import { cancelAny, readJob, sweep, walkOn } from "@atelier/server/jobs";
import { newId } from "@atelier/server/platform";
import {
  attemptsOf,
  clientOf,
  type ProviderClient,
  ProviderError,
  type ProviderKey,
} from "@atelier/server/providers";
import { addNode, addOwner, loseNode } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { RunStopped } from "../base/index.ts";
import { runCloudJob } from "./cloud-job.ts";

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices({ config: { cloud: { prices: { "nano-banana": 0.05 } } } });
});
afterAll(() => opened.close());

const access = {
  name: "replicate",
  baseUrl: "http://127.0.0.1:9",
  apiKey: "canary-key",
  webhookSecret: null,
} as const;
const handle = { endpoint: "google/nano-banana", externalId: "late", urls: {} };

type NewJob = Pick<typeof schema.jobs.$inferInsert, "ownerId" | "nodeId" | "kind" | "status" | "inputCount">;

/** A job of the cloud that a node has claimed. */
async function addClaimedJob(row: NewJob) {
  const { services } = opened;
  const id = newId();
  const need = { queue: "cloud", engine: "cloud", model: "nano-banana", need: "cloud/nano-banana" } as const;
  await services.db
    .insert(schema.jobs)
    .values({ id, tier: 1, params: { prompt: "a still pond" }, attempt: 1, ...need, ...row });
  const job = await readJob(services, id);
  if (!job) throw new Error("the job is gone");
  return job;
}

/** Runs a claimed job whose node is called lost during its call; `submit` is how the call ends after that. */
async function runOnLostNode(
  submit: (attempts: () => ReturnType<typeof attemptsOf>) => ReturnType<ProviderClient["submit"]>,
) {
  const { services } = opened;
  const nodeId = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
  // A key of its own, since a failure lets a key rest.
  const keys: readonly ProviderKey[] = [{ provider: "replicate", keyId: newId(), access }];
  const { userId: ownerId } = await addOwner(services);
  const job = await addClaimedJob({ ownerId, nodeId, kind: "text_to_image", status: "processing" });
  const { id } = job;
  const cancelled: string[] = [];
  const attempts = () => attemptsOf(services.db, id);
  const client: ProviderClient = {
    ...clientOf("replicate"),
    async submit() {
      await loseNode(services, { nodeId, agoMs: 0 });
      await sweep(services);
      expect((await attempts()).map(({ state }) => state)).toEqual(["unknown"]);
      return submit(attempts);
    },
    cancel(_access, { externalId }) {
      cancelled.push(externalId);
      return Promise.resolve("requested");
    },
  };
  const lease = { jobId: id, attempt: 1, nodeId };
  const { signal } = new AbortController();
  await runCloudJob(services, { job, lease, keys, clientOf: () => client, signal, onBusy: () => undefined });
  return { job: await readJob(services, id), attempts: await attempts(), cancelled };
}

test("F10 R1 a refusal that comes after the call was taken over sends the job back to the line", async () => {
  const { job, attempts } = await runOnLostNode(() =>
    Promise.reject(new ProviderError("transient", "HTTP 503")),
  );
  expect(job).toMatchObject({ providerAttemptId: null, nodeId: null, charged: 0 });
  expect(["pending", "queued"]).toContain(job?.status);
  expect(attempts).toMatchObject([{ state: "failed", errorClass: "transient", costUsd: 0 }]);
});

test("a refusal of the content that comes so late ends the job where no own machine can run it", async () => {
  const { job } = await runOnLostNode(() => Promise.reject(new ProviderError("moderation", "No.")));
  expect(job).toMatchObject({ status: "failed", errorCode: "engine_blocked" });
});

test("F10 R1 a run that is accepted after the call was taken over is followed", async () => {
  const accepted = { handle, run: { state: "queued", progress: null } } as const;
  const { job, attempts, cancelled } = await runOnLostNode(() => Promise.resolve(accepted));
  expect(attempts).toMatchObject([{ state: "accepted", externalId: "late" }]);
  expect(job).toMatchObject({ status: "processing", providerAttemptId: attempts[0]?.id });
  expect(cancelled).toEqual([]);
});

test("F10 R1 a run that is accepted after its job went on without it is cancelled at the provider", async () => {
  const accepted = { handle, run: { state: "queued", progress: null } } as const;
  const { attempts, cancelled } = await runOnLostNode(async (read) => {
    const unsent = new ProviderError("unsent", "The provider never got the request.");
    for (const attempt of await read()) await walkOn(opened.services, attempt, unsent);
    return accepted;
  });
  expect(attempts).toMatchObject([{ state: "failed", errorClass: "unsent" }]);
  expect(cancelled).toEqual(["late"]);
});

test("D6 a job that is cancelled while the store is silent ends at once, and no provider is called", async () => {
  const { services } = opened;
  const nodeId = await addNode(services, { queue: "cloud", needs: ["cloud/nano-banana"] });
  const { userId: ownerId, imageId } = await addOwner(services);
  const job = await addClaimedJob({
    ownerId,
    nodeId,
    kind: "edit",
    status: "waiting_for_engine",
    inputCount: 1,
  });
  const { id } = job;
  await services.db.insert(schema.jobInputs).values({ jobId: id, imageId, role: "image" });
  const asked = Promise.withResolvers<void>();
  const disk: typeof services.disk = Object.create(services.disk);
  disk.open = () => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const stop = new AbortController();
  const clientOf = () => {
    throw new Error("a provider is called");
  };
  const run = runCloudJob(
    { ...services, disk },
    {
      job,
      lease: { jobId: id, attempt: 1, nodeId },
      keys: [{ provider: "replicate", keyId: newId(), access }],
      clientOf,
      signal: stop.signal,
      onBusy: () => undefined,
    },
  );
  await asked.promise;
  await cancelAny(services, { id });
  stop.abort(new RunStopped("cancelled"));
  await run;
  expect(await readJob(services, id)).toMatchObject({ status: "cancelled", providerAttemptId: null });
});
