import { addJob, addNode, localOffers, testQueue } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { expect, test, vi } from "vitest";
import { readAnyStory } from "./admin.ts";
import { claim } from "./run.ts";
import { fail } from "./fail.ts";
import { getStory } from "./get.ts";
import { noteSubmission } from "./note-submission.ts";
import { AppError } from "../platform/index.ts";

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
