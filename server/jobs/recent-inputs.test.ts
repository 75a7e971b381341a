import { readSample } from "@atelier/testing/pictures";
import { createTestServices, openOwner, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getImage, ingest, removeImages } from "../images/index.ts";
import { recentInputs, submit } from "./index.ts";

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
