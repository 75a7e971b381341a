import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addJob, addNode, localOffers, testQueue } from "@atelier/testing/jobs";
import { readSample } from "@atelier/testing/pictures";
import { openJobScene } from "@atelier/testing/scenes";
import { createTestServices, openOwner, type TestServices } from "@atelier/testing/services";
import { getImage, ingest, removeImages } from "../images/index.ts";
import { AppError } from "../platform/index.ts";
import { readAnyStory } from "./admin.ts";
import { fail } from "./fail.ts";
import { cancel, recentInputs, submit } from "./index.ts";
import { getStory } from "./read.ts";
import { claim, noteSubmission } from "./claimed.ts";

describe("recent inputs", () => {
  let fixture: TestServices;

  beforeAll(async () => {
    fixture = await createTestServices();
  });
  afterAll(() => fixture.close());

  test("the wardrobe shows each picture once, the last used first, and leaves out what is gone", async () => {
    const { services } = fixture;
    const { caller, imageId } = await openOwner(services, "owner@example.com");
    const ownerId = caller.userId;
    const use = (image: string) =>
      submit(services, { kind: "upscale", params: {}, inputs: { image } }, { submitter: caller });
    const bytes = await readSample("chelsea.png");
    const { id: second } = await ingest(services, { ownerId, role: "upload", bytes });
    await use(second);
    const recent = async () => recentInputs(services, { ownerId, role: "image", limit: 10 });
    expect((await recent()).map(({ id }) => id)).toEqual([second, imageId]);
    await use(imageId);
    expect((await recent()).map(({ id }) => id)).toEqual([imageId, second]);
    expect(await recentInputs(services, { ownerId, role: "person", limit: 10 })).toEqual([]);
    await removeImages(services, { ids: [imageId], ownerId });
    expect(await recent()).toEqual([await getImage(services, { id: second, ownerId })]);
  });
});

describe("read", () => {
  const scene = openJobScene();

  test("A12 a story names the server by host and port and no node by its id; an admin's has both", async () => {
    const { services } = scene;
    const nodeId = await addNode(services);
    const id = await addJob(services, { owner: scene.owner });
    const job = await vi.waitUntil(() => claim(services, { nodeId, queue: testQueue, offers: localOffers }));
    const lease = { jobId: id, attempt: job.attempt, nodeId };
    await noteSubmission(services, lease, { server: "http://gpu-1:8188", externalId: "one" });
    await fail(services, lease, new AppError("server_lost"));
    const { events } = await getStory(services, { ownerId: scene.owner.userId, id });
    expect(events.find(({ type }) => type === "posted")?.data).toEqual({ server: "gpu-1:8188" });
    expect(events.find(({ type }) => type === "claimed")?.data).toEqual({});
    const all = JSON.stringify(events);
    expect(all).not.toContain(nodeId);
    expect(all).not.toContain("http://");
    const told = JSON.stringify((await readAnyStory(services, { id })).events);
    expect(told).toContain(nodeId);
    expect(told).toContain("http://gpu-1:8188");
    // On a slow machine it is due again before the next test claims its job.
    await cancel(services, { ownerId: scene.owner.userId, id });
  });

  test("A12 the text of a server's exception is in the admin's story, not in the owner's", async () => {
    const { services } = scene;
    const nodeId = await addNode(services);
    const id = await addJob(services, { owner: scene.owner });
    const job = await vi.waitUntil(() => claim(services, { nodeId, queue: testQueue, offers: localOffers }));
    const details = { exception: "SafetensorError: header too small" };
    await fail(
      services,
      { jobId: id, attempt: job.attempt, nodeId },
      new AppError("engine_failed", undefined, { details }),
    );
    const own = await getStory(services, { ownerId: scene.owner.userId, id });
    expect(JSON.stringify(own)).not.toContain("header too small");
    const { events } = await readAnyStory(services, { id });
    expect(events.find(({ type }) => type === "requeued")?.data).toMatchObject(details);
  });
});
