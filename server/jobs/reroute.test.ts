import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addNode, addOwner, addServer, readJob, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { schema } from "../db/index.ts";
import { AppError, type ErrorCode } from "../platform/index.ts";
import { claim, type Offer } from "./claim.ts";
import { fail } from "./fail.ts";
import type { Job } from "./job.ts";
import { noteSubmission } from "./note-submission.ts";
import { start } from "./start.ts";
import { submit } from "./submit.ts";
import { sweep } from "./sweep.ts";

const need = "comfyui/upscale_model";
const [small, large] = ["http://small:8188", "http://large:8188"];
const offers: readonly Offer[] = [{ need, servers: [small, large] }];

let opened: TestServices;
let owner: TestOwner;
let nodeId: string;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
beforeEach(async () => {
  const { services } = opened;
  await services.db.delete(schema.jobs);
  await services.db.delete(schema.nodes);
  owner = await addOwner(services);
  nodeId = await addNode(services, { queue: "gpu-high", needs: [need], slots: 2 });
});

async function submitUpscale(): Promise<string> {
  const request = { kind: "upscale", workflow: "upscale_model", inputs: { image: owner.imageId } };
  return (await submit(opened.services, request, { submitter: owner })).id;
}

async function takeNext(): Promise<Job> {
  await sweep(opened.services);
  const job = await claim(opened.services, { nodeId, queue: "gpu-high", offers });
  if (!job) throw new Error("there was nothing to claim");
  return job;
}

/** A try on a server that ends with the error; gives the job as it is then. */
async function failOn(server: string, code: ErrorCode): Promise<Job> {
  const { id, attempt } = await takeNext();
  const lease = { jobId: id, attempt, nodeId };
  await start(opened.services, lease);
  await noteSubmission(opened.services, lease, { server, externalId: `${id}-${attempt}` });
  await fail(opened.services, lease, new AppError(code, undefined, { details: { server } }));
  return readJob(opened.services, id);
}

describe("D8 where a failed try goes", () => {
  test("F25 a lost server: to another at once, uncharged, and never back while there is another", async () => {
    await addServer(opened.services, { nodeId, url: small, needs: [need] });
    await addServer(opened.services, { nodeId, url: large, needs: [need] });
    await submitUpscale();
    const job = await failOn(small, "server_lost");
    expect(job).toMatchObject({ charged: 0, avoid: [small], externalId: null });
    const alone: readonly Offer[] = [{ need, servers: [small] }];
    await sweep(opened.services);
    expect(await claim(opened.services, { nodeId, queue: "gpu-high", offers: alone })).toBeNull();
    expect(await claim(opened.services, { nodeId, queue: "gpu-high", offers })).toMatchObject({ id: job.id });
  });

  test("F25 a lost server: to one that another node serves through another queue of cards", async () => {
    const { services } = opened;
    const other = await addNode(services, { queue: "gpu-medium", needs: [need] });
    await addServer(services, { nodeId, url: small, needs: [need] });
    await addServer(services, { nodeId: other, url: large, needs: [need] });
    await submitUpscale();
    const job = await failOn(small, "server_lost");
    expect(job).toMatchObject({ avoid: [small], queue: "gpu-medium" });
    await sweep(services);
    const claimed = await claim(services, {
      nodeId: other,
      queue: "gpu-medium",
      offers: [{ need, servers: [large] }],
    });
    expect(claimed).toMatchObject({ id: job.id });
  });

  test("F25 a server that its node offers to nobody is no other server", async () => {
    const { services } = opened;
    const narrowed = await addNode(services, { queue: "gpu-medium", needs: [] });
    await addServer(services, { nodeId, url: small, needs: [need] });
    await addServer(services, { nodeId: narrowed, url: large, needs: [need] });
    await submitUpscale();
    expect(await failOn(small, "server_lost")).toMatchObject({ avoid: [], queue: "gpu-high" });
  });

  test("F25 the only server: the job waits a while for it to come back", async () => {
    await addServer(opened.services, { nodeId, url: small, needs: [need] });
    await submitUpscale();
    const job = await failOn(small, "server_lost");
    expect(job).toMatchObject({ status: "pending", charged: 0, avoid: [] });
    expect(job.notBefore).toBeInstanceOf(Date);
  });

  test("a missing model: to another server, and failed with its own code when there is none", async () => {
    await addServer(opened.services, { nodeId, url: small, needs: [need] });
    await addServer(opened.services, { nodeId, url: large, needs: [need] });
    await submitUpscale();
    expect(await failOn(small, "model_missing")).toMatchObject({ avoid: [small] });
    expect(await failOn(large, "model_missing")).toMatchObject({
      status: "failed",
      errorCode: "model_missing",
    });
  });

  test("F27 out of memory on a card: to a server with more of it", async () => {
    await addServer(opened.services, { nodeId, url: small, needs: [need], vramGib: 8 });
    await addServer(opened.services, { nodeId, url: large, needs: [need], vramGib: 24 });
    await addServer(opened.services, { nodeId, url: "http://same:1", needs: [need], vramGib: 8 });
    await submitUpscale();
    const job = await failOn(small, "gpu_out_of_memory");
    expect(job.avoid.toSorted()).toEqual(["http://same:1", small]);
    expect(job).toMatchObject({ charged: 0, queue: "gpu-high" });
  });

  test("F27 D8 out of memory on every card: to the CPU queue as a declared downgrade", async () => {
    await addNode(opened.services);
    await addServer(opened.services, { nodeId, url: small, needs: [need] });
    await submitUpscale();
    const job = await failOn(small, "gpu_out_of_memory");
    expect(job).toMatchObject({
      queue: "cpu-light",
      engine: "local",
      need: "local/upscale",
      workflow: null,
      placement: { downgrade: { from: need, queue: "gpu-high", reason: "gpu_out_of_memory" } },
    });
  });

  test("F27 out of memory everywhere and nothing on the CPU can do it: failed with its own code", async () => {
    await addServer(opened.services, { nodeId, url: small, needs: [need] });
    await submitUpscale();
    expect(await failOn(small, "gpu_out_of_memory")).toMatchObject({
      status: "failed",
      errorCode: "gpu_out_of_memory",
    });
  });

  test("whoever it waited for has gone: it may go back to the server that is left", async () => {
    await addServer(opened.services, { nodeId, url: small, needs: [need] });
    await addServer(opened.services, { nodeId, url: large, needs: [need] });
    await submitUpscale();
    expect(await failOn(small, "server_lost")).toMatchObject({ avoid: [small] });
    await opened.services.db.update(schema.engineServers).set({ state: "down" });
    await sweep(opened.services);
    await opened.services.db.delete(schema.engineServers);
    await addServer(opened.services, { nodeId, url: small, needs: [need] });
    await sweep(opened.services);
    const alone: readonly Offer[] = [{ need, servers: [small] }];
    expect(await claim(opened.services, { nodeId, queue: "gpu-high", offers: alone })).toMatchObject({
      avoid: [],
    });
  });

  test("F3 what a dead worker posted is kept for the next try; what failed or was stopped is not", async () => {
    await addServer(opened.services, { nodeId, url: small, needs: [need] });
    await submitUpscale();
    const { id, attempt } = await takeNext();
    await noteSubmission(
      opened.services,
      { jobId: id, attempt, nodeId },
      { server: small, externalId: "posted" },
    );
    await opened.services.db.update(schema.nodes).set({ state: "lost" });
    await sweep(opened.services);
    expect(await readJob(opened.services, id)).toMatchObject({
      nodeId: null,
      charged: 1,
      server: small,
      externalId: "posted",
    });
  });
});
