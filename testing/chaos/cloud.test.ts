import { expect, test } from "vitest";
import { cancel, submit } from "@atelier/server/jobs";
import { readSpend } from "@atelier/server/providers";
import { forBackends, realTimeMs, inAll } from "../cases/index.ts";
import { readJob, readStory, until } from "../jobs/index.ts";
import { openCloudScene, readAttempts } from "./cloud-scene.ts";
import { eventually } from "./scene.ts";

const timeout = { timeout: realTimeMs };

forBackends(
  "E1 E2 E6 a prompt becomes a picture at a provider, asked about until it is done, bells on %s",
  async (backend, { onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["replicate"], backend });
    await scene.startCloudWorker();
    const id = await scene.generate("a red fox");
    const job = await until(scene.services, id, "completed");
    expect(job).toMatchObject({
      engine: "cloud",
      queue: "cloud",
      server: "replicate",
      nodeId: null,
      attempt: 1,
    });
    expect(await readAttempts(scene, id)).toEqual([
      { provider: "replicate", state: "succeeded", class: null },
    ]);
    const story = (await readStory(scene.services, id)).map(({ type }) => type);
    expect(story.filter((type) => type !== "progress")).toEqual([
      "created",
      "queued",
      "claimed",
      "started",
      "provider_tried",
      "provider_accepted",
      "completed",
    ]);
    expect(scene.chargedFor("a red fox")).toBe(1);
    expect(await scene.faults()).toEqual([]);
  },
);

test.concurrent(
  "E2 E5 R6 a provider that refuses, limits or is gone is passed over in the same run of the worker",
  timeout,
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["google", "fal", "replicate"] });
    const { google, fal } = scene.providers.simulators;
    google.fault = "rate";
    fal.fault = "refuse";
    await scene.startCloudWorker();
    const id = await scene.generate("a blue door", { model: "nano-banana" });
    await until(scene.services, id, "completed");
    expect(await readAttempts(scene, id)).toEqual([
      { provider: "google", state: "failed", class: "rate" },
      { provider: "fal", state: "failed", class: "transient" },
      { provider: "replicate", state: "succeeded", class: null },
    ]);
    expect(await readJob(scene.services, id)).toMatchObject({ attempt: 1, charged: 0 });
    expect(scene.chargedFor("a blue door")).toBe(1);
  },
);

test.concurrent(
  "E5 all providers failed: the job fails with the reason of each",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["fal", "replicate"] });
    scene.providers.simulators.fal.fault = "credit";
    scene.providers.simulators.replicate.fault = "auth";
    await scene.startCloudWorker();
    const id = await scene.generate("nothing", { model: "nano-banana" });
    expect(await until(scene.services, id, "failed")).toMatchObject({
      errorCode: "provider_setup",
      errorMessage: expect.stringMatching(
        /fal: the studio's account has no credit.*Replicate: refused the studio's key.*not your fault/,
      ),
    });
  },
);

test.concurrent(
  "E3 E5 all providers busy: the jobs wait at the end of the line and none is lost or charged twice",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["replicate"] });
    const { replicate } = scene.providers.simulators;
    replicate.end = "never";
    await scene.startCloudWorker({ config: "narrowCloud" });
    const prompts = ["one", "two", "three"].map((name) => `picture ${name}`);
    const ids = await Promise.all(prompts.map((prompt) => scene.generate(prompt, { model: "nano-banana" })));
    const stories = () => Promise.all(ids.map((id) => readStory(scene.services, id)));
    const busy = async () =>
      (await stories()).filter((story) => story.some(({ type }) => type === "providers_busy"));
    await eventually(async () => (await busy()).length, 2);
    await eventually(() => replicate.runs.size, 1);
    replicate.end = "succeeded";
    for (const run of replicate.runs.values()) replicate.finish(run, "succeeded");
    for (const id of ids) await until(scene.services, id, "completed");
    expect(prompts.map((prompt) => scene.chargedFor(prompt))).toEqual([1, 1, 1]);
  },
);

test.concurrent(
  "E5 a provider that has too many requests is waited for, at no cost to the job",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["fashn"] });
    const { fashn } = scene.providers.simulators;
    fashn.fault = "busy";
    await scene.startCloudWorker();
    const inputs = { image: scene.owner.imageId };
    const request = { kind: "remove_background", model: "background-remove", inputs };
    const { id } = await submit(scene.services, request, { submitter: scene.owner });
    await eventually(() => fashn.submits.length > 0, true);
    fashn.fault = null;
    expect(await until(scene.services, id, "completed")).toMatchObject({ charged: 0 });
    const [first, ...rest] = await readAttempts(scene, id);
    expect(first).toMatchObject({ state: "failed", class: "capacity" });
    expect(rest.at(-1)).toMatchObject({ state: "succeeded" });
  },
);

test.concurrent(
  "a provider that answers with the picture itself",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["google", "openai"] });
    await scene.startCloudWorker();
    const google = await scene.generate("a green hill", { model: "nano-banana" });
    const openai = await scene.generate("a white wall", { model: "gpt-image" });
    expect(await until(scene.services, google, "completed")).toMatchObject({ server: "google" });
    expect(await until(scene.services, openai, "completed")).toMatchObject({ server: "openai" });
  },
);

test.concurrent(
  "F3 F23 R1 an accepted request whose answer is lost is found in the provider's list and not paid twice",
  timeout,
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, {
      keys: ["replicate"],
      env: { APP_URL: "http://127.0.0.1:9" },
    });
    const { replicate } = scene.providers.simulators;
    replicate.fault = "drop";
    await scene.startCloudWorker();
    const id = await scene.generate("a lost letter");
    await eventually(
      async () => (await readAttempts(scene, id)).map(({ state }) => state).includes("unknown"),
      true,
    );
    replicate.fault = null;
    await until(scene.services, id, "completed");
    expect(scene.chargedFor("a lost letter")).toBe(1);
    expect(replicate.submits).toHaveLength(1);
  },
);

test.concurrent(
  "R1 a lost answer that nothing explains fails the job, which may have been paid, and no other provider is asked",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["fal", "replicate"] });
    scene.providers.simulators.fal.fault = "drop";
    await scene.startCloudWorker();
    const id = await scene.generate("a silent bell", { model: "nano-banana" });
    expect(await until(scene.services, id, "failed")).toMatchObject({ errorCode: "provider_unknown" });
    expect(scene.providers.simulators.replicate.submits).toHaveLength(0);
  },
);

test.concurrent(
  "a provider that knows idempotency keys gets a lost request again, which it does not charge twice",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["higgsfield"] });
    const { higgsfield } = scene.providers.simulators;
    higgsfield.fault = "drop";
    await scene.startCloudWorker();
    const id = await scene.generate("an echo", { model: "soul" });
    await eventually(() => higgsfield.submits.length > 0, true);
    higgsfield.fault = null;
    await until(scene.services, id, "completed");
    expect(scene.chargedFor("an echo")).toBe(1);
    expect(higgsfield.runs.size).toBe(1);
  },
);

test.concurrent(
  "F3 E6 the death of a worker does not touch a job that a provider has; another worker takes the result",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["replicate"] });
    const { replicate } = scene.providers.simulators;
    replicate.end = "never";
    const doomed = await scene.startCloudWorker({ name: "doomed" });
    const id = await scene.generate("a long night");
    await eventually(() => replicate.runs.size, 1);
    await eventually(async () => (await readAttempts(scene, id))[0]?.state, "accepted");
    await doomed.kill9();
    await scene.startCloudWorker({ name: "other" });
    for (const run of replicate.runs.values()) replicate.finish(run, "succeeded");
    const job = await until(scene.services, id, "completed");
    expect(job).toMatchObject({ attempt: 1, charged: 0 });
    expect(replicate.submits).toHaveLength(1);
  },
);

test.concurrent(
  "F3 R1 a worker killed during the submit: the run is found in the provider's list and completed by another worker",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, {
      keys: ["replicate"],
      env: { APP_URL: "http://127.0.0.1:9" },
    });
    const { replicate } = scene.providers.simulators;
    replicate.end = "never";
    replicate.fault = "hang";
    const doomed = await scene.startCloudWorker({ name: "doomed" });
    const id = await scene.generate("a cut line");
    await eventually(() => replicate.submits.length, 1);
    // The provider took the request that the worker waits for.
    const [submit] = replicate.submits;
    replicate.start({
      endpoint: "google/nano-banana",
      input: submit?.json["input"],
      webhookUrl: String(submit?.json["webhook"]),
    });
    await doomed.kill9();
    replicate.fault = null;
    await scene.startCloudWorker({ name: "other" });
    for (const run of replicate.runs.values()) replicate.finish(run, "succeeded");
    await until(scene.services, id, "completed");
    expect(replicate.submits).toHaveLength(1);
    expect(scene.chargedFor("a cut line")).toBe(1);
  },
);

test.concurrent(
  "D6 a job that a provider has is cancelled, and its run there",
  timeout,
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["replicate"] });
    const { replicate } = scene.providers.simulators;
    replicate.end = "never";
    await scene.startCloudWorker();
    const id = await scene.generate("never mind");
    await eventually(async () => (await readAttempts(scene, id))[0]?.state, "accepted");
    await cancel(scene.services, { ownerId: scene.owner.userId, id });
    await until(scene.services, id, "cancelled");
    await eventually(async () => (await readAttempts(scene, id))[0]?.state, "cancelled");
    expect([...replicate.runs.values()].map(({ state }) => state)).toEqual(["cancelled"]);
  },
);

test.concurrent(
  "E6 E8 a failure that comes late marks the provider and fails the job",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["replicate", "fal"] });
    scene.providers.simulators.fal.end = "failed";
    await scene.startCloudWorker();
    const id = await scene.generate("a broken vase", { model: "nano-banana" });
    expect(await until(scene.services, id, "failed")).toMatchObject({ errorCode: "provider_failed" });
    expect(await readAttempts(scene, id)).toEqual([{ provider: "fal", state: "failed", class: "internal" }]);
  },
);

test.concurrent(
  "a refusal of the content ends the job; no other provider is asked",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["google", "replicate"] });
    scene.providers.simulators.google.end = "moderated";
    await scene.startCloudWorker();
    const id = await scene.generate("forbidden", { model: "nano-banana" });
    expect(await until(scene.services, id, "failed")).toMatchObject({ errorCode: "engine_blocked" });
    expect(scene.providers.simulators.replicate.submits).toHaveLength(0);
  },
);

test.concurrent(
  "R1 what a provider made and charged but nobody can use fails the job; no other provider is asked",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["google", "replicate"] });
    const { google, replicate } = scene.providers.simulators;
    google.picture = () => Promise.resolve(Buffer.from("no picture at all"));
    await scene.startCloudWorker();
    const id = await scene.generate("a torn page", { model: "nano-banana" });
    expect(await until(scene.services, id, "failed")).toMatchObject({ errorCode: "provider_failed" });
    expect(replicate.submits).toHaveLength(0);
    expect(await readSpend(scene.services.db, scene.services.config, scene.owner.userId)).toEqual({
      dayUsd: 0.067,
      monthUsd: 0.067,
    });
  },
);

test.concurrent(
  "R1 a job that comes back to the line although a provider has it is not submitted again",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["replicate"] });
    const { replicate } = scene.providers.simulators;
    replicate.end = "never";
    await scene.startCloudWorker();
    const id = await scene.generate("a stray sheep");
    await eventually(async () => (await readAttempts(scene, id))[0]?.state, "accepted");
    await scene.services.db.execute(
      `update jobs set status = 'pending', provider_attempt_id = null where id = '${id}'`,
    );
    await eventually(
      async () => (await readStory(scene.services, id)).some(({ type }) => type === "provider_lost"),
      true,
    );
    for (const run of replicate.runs.values()) replicate.finish(run, "succeeded");
    await until(scene.services, id, "completed");
    expect(replicate.submits).toHaveLength(1);
  },
);

test.concurrent(
  "guests spend nothing, and what must stay on own machines does not leave them",
  { ...timeout, ...inAll },
  async ({ onTestFinished }) => {
    const scene = await openCloudScene(onTestFinished, { keys: ["replicate"] });
    await scene.startCloudWorker();
    const guest = { submitter: { userId: scene.owner.userId, isGuest: true } };
    await expect(scene.generate("x", { model: "nano-banana" }, guest)).rejects.toMatchObject({
      code: "forbidden",
    });
    await expect(scene.generate("x", {}, guest)).rejects.toMatchObject({ code: "no_engine" });
    await expect(scene.generate("x", { ownOnly: true })).rejects.toMatchObject({ code: "no_engine" });
    const own = scene.generate("x", { ownOnly: true, model: "nano-banana" });
    await expect(own).rejects.toMatchObject({ code: "forbidden" });
    expect(scene.providers.simulators.replicate.submits).toHaveLength(0);
  },
);
