import { addImage, addNode, addOwner } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { cancel, retry, submit } from "../jobs/index.ts";
import { removeImages } from "../images/index.ts";
import { addItem, addItemSchema, countUses, listItems } from "./index.ts";

const scene = openJobScene({ isEmptied: true });

/** A garment of a new owner that is being cut out of its photo. */
async function cuttingOut() {
  const { services } = scene;
  await addNode(services, { queue: "cpu-light", needs: ["local/remove_background"] });
  const owner = await addOwner(services);
  const imageId = await addImage(services, owner.userId);
  const request = { kind: "remove_background", inputs: { image: imageId } };
  const { id: jobId } = await submit(services, request, { submitter: owner });
  const ofOwner = { ownerId: owner.userId };
  const item = await addItem(services, {
    ...addItemSchema.parse({ imageId, what: "garment", category: "top", cutOutJobId: jobId }),
    ...ofOwner,
  });
  expect(item).toMatchObject({ isBeingCutOut: true, cutOutFailure: null });
  return { owner, jobId, imageId, read: async () => (await listItems(services, ofOwner))[0] };
}

test("C1 a garment whose cut-out failed says why, and one whose cut-out runs again is being cut out", async () => {
  const { services } = scene;
  const { owner, jobId, imageId, read } = await cuttingOut();
  await services.db
    .update(schema.jobs)
    .set({ status: "failed", errorCode: "nothing_stands_out", endedAt: new Date() })
    .where(eq(schema.jobs.id, jobId));
  expect(await read()).toMatchObject({
    imageId,
    isBeingCutOut: false,
    cutOutFailure: { jobId, code: "nothing_stands_out" },
  });
  const again = await retry(services, { id: jobId, submitter: owner });
  expect(again.id).not.toBe(jobId);
  expect(await read()).toMatchObject({ category: "top", isBeingCutOut: true, cutOutFailure: null });
  await cancel(services, { ownerId: owner.userId, id: again.id });
  expect(await read()).toMatchObject({
    isBeingCutOut: false,
    cutOutFailure: { jobId: again.id, code: null },
  });
  await retry(services, { id: again.id, submitter: owner });
  expect(await read()).toMatchObject({ isBeingCutOut: true });
});

test("C1 a deleted picture tells what of the wardrobe shows it, as it is or cut out, and of nobody else", async () => {
  const { services } = scene;
  const { owner, jobId, imageId, read } = await cuttingOut();
  const cutOutId = await addImage(services, owner.userId);
  await services.db.update(schema.images).set({ jobId }).where(eq(schema.images.id, cutOutId));
  const usesOf = (...imageIds: string[]) => countUses(services, { ownerId: owner.userId, imageIds });
  expect(await usesOf(imageId)).toBe(1);
  expect(await usesOf(cutOutId)).toBe(1);
  expect(await usesOf(imageId, cutOutId)).toBe(1);
  expect(await usesOf(await addImage(services, owner.userId))).toBe(0);
  expect(await countUses(services, { ownerId: scene.owner.userId, imageIds: [imageId] })).toBe(0);
  expect(await read()).toMatchObject({ imageId: cutOutId });
  await removeImages(services, { ownerId: owner.userId, ids: [cutOutId] });
  expect(await read()).toMatchObject({ imageId });
  await removeImages(services, { ownerId: owner.userId, ids: [imageId] });
  expect(await read()).toBeUndefined();
});
