import { addJob, addOwner, type TestOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { ingest, removeImages, restoreImages } from "../images/index.ts";
import { newId } from "../platform/index.ts";
import {
  addItem,
  addItemSchema,
  changeItem,
  hasConsent,
  listItems,
  removeItems,
  restoreItems,
  stateConsent,
} from "./index.ts";

let opened: TestServices;
let owner: TestOwner;

beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
beforeEach(async () => {
  owner = await addOwner(opened.services);
});

/** A garment of one colour that lies on a ground of another. */
async function photo(colour: string, ground = "#f2f0ec"): Promise<string> {
  const garment = await sharp({ create: { width: 120, height: 160, channels: 3, background: colour } })
    .png()
    .toBuffer();
  const bytes = await sharp({ create: { width: 240, height: 240, channels: 3, background: ground } })
    .composite([{ input: garment }])
    .png()
    .toBuffer();
  const { id } = await ingest(opened.services, { ownerId: owner.userId, role: "upload", bytes });
  return id;
}

const add = (imageId: string, facts: object = {}) => {
  const input = addItemSchema.parse({ imageId, what: "garment", ...facts });
  return addItem(opened.services, { ...input, ownerId: owner.userId });
};
const list = () => listItems(opened.services, { ownerId: owner.userId });

test("C1 a garment keeps what was said of it, its colour is found by itself, and it is there once", async () => {
  const imageId = await photo("#1f4fa8");
  const item = await add(imageId, { category: "top", name: " Blue shirt ", tags: ["summer"] });
  expect(item).toMatchObject({
    imageId,
    category: "top",
    name: "Blue shirt",
    tags: ["summer"],
    colour: "blue",
  });
  const { id } = await add(imageId, { category: "outerwear" });
  expect(id).toBe(item.id);
  expect(await changeItem(opened.services, { id, ownerId: owner.userId, name: "Coat" })).toMatchObject({
    category: "outerwear",
    name: "Coat",
  });
  expect(await list()).toHaveLength(1);
});

test("C1 a picture that is put into the wardrobe again keeps what was said of it, unless it is said anew", async () => {
  const imageId = await photo("#1f6fa8");
  const { userId: ownerId } = owner;
  const cutOutJobId = await addJob(opened.services, { owner: { ...owner, imageId } });
  const said = { category: "top", name: "Blue shirt", tags: ["summer"] };
  const { id } = await add(imageId, { ...said, cutOutJobId });
  expect(await add(imageId)).toMatchObject({ id, ...said, isBeingCutOut: true });
  await removeItems(opened.services, { ownerId, ids: [id] });
  expect(await add(imageId)).toMatchObject({ id, ...said, isBeingCutOut: true });
  expect(await add(imageId, { name: "", tags: [], category: null })).toMatchObject({
    id,
    category: null,
    name: "",
    tags: [],
    isBeingCutOut: true,
  });
  expect(await add(imageId, { cutOutJobId: null })).toMatchObject({ id, isBeingCutOut: false });
  await add(imageId, { ...said, cutOutJobId });
  expect(await add(imageId, { what: "person" })).toMatchObject({
    id,
    ...said,
    what: "person",
    category: null,
    isBeingCutOut: false,
  });
});

test.each([
  ["#101010", "black"],
  ["#8a8a8a", "grey"],
  ["#c8202a", "red"],
  ["#2f7d3b", "green"],
  ["#6b4423", "brown"],
  ["#f3c81c", "yellow"],
  ["#e78ab4", "pink"],
])("C1 a garment of %s is called %s", async (hex, name) => {
  expect((await add(await photo(hex))).colour).toBe(name);
});

test("C1 cloth that fills its picture has the colour of the picture", async () => {
  expect((await add(await photo("#7a1fa2", "#7a1fa2"))).colour).toBe("purple");
});

test("C1 an item is away while its picture is deleted, and taking it out deletes no picture", async () => {
  const imageId = await photo("#204020");
  const { id } = await add(imageId);
  const ofOwner = { ownerId: owner.userId, ids: [imageId] };
  await removeImages(opened.services, ofOwner);
  expect(await list()).toEqual([]);
  await restoreImages(opened.services, ofOwner);
  expect(await list()).toMatchObject([{ id, imageId }]);
  expect(await removeItems(opened.services, { ownerId: owner.userId, ids: [id] })).toEqual([id]);
  expect(await list()).toEqual([]);
  expect(await restoreItems(opened.services, { ownerId: owner.userId, ids: [id] })).toEqual([id]);
  expect(await list()).toMatchObject([{ id }]);
  expect(await removeImages(opened.services, ofOwner)).toEqual([imageId]);
});

test("C1 S3 the statement about a photo is made once, for its bytes, and belongs to its owner", async () => {
  const imageId = await photo("#905030");
  const input = { ownerId: owner.userId, imageId };
  const item = await add(imageId, { what: "person", category: "top" });
  expect(item).toMatchObject({ what: "person", category: null, colour: null, hasConsent: false });
  expect(await hasConsent(opened.services, input)).toBe(false);
  await stateConsent(opened.services, input);
  await stateConsent(opened.services, input);
  expect(await hasConsent(opened.services, input)).toBe(true);
  expect(await list()).toMatchObject([{ hasConsent: true }]);
  const stranger = await addOwner(opened.services);
  await expect(stateConsent(opened.services, { ...input, ownerId: stranger.userId })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("C1 a full wardrobe takes no more, neither at once nor by what was taken out, and its items can be changed", async () => {
  const { services } = opened;
  const full = await addOwner(services);
  const ids = Array.from({ length: 1_002 }, () => newId());
  const facts = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "" };
  await services.db.insert(schema.images).values(
    ids.map((id) => ({
      ...facts,
      id,
      ownerId: full.userId,
      role: "upload" as const,
      storageKey: id,
      storedSha256: id,
    })),
  );
  const [changed = "", ...rest] = ids;
  const put = (imageId: string, name = "") =>
    addItem(services, { ownerId: full.userId, ...addItemSchema.parse({ imageId, what: "garment", name }) });
  const { id } = await put(changed);
  await removeItems(services, { ownerId: full.userId, ids: [id] });
  const others = rest.slice(0, 998);
  await services.db.insert(schema.wardrobeItems).values(
    others.map((imageId) => ({
      id: newId(),
      ownerId: full.userId,
      imageId,
      what: "garment" as const,
      tags: [],
    })),
  );
  const ends = await Promise.allSettled(rest.slice(998).map((imageId) => put(imageId)));
  expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "fulfilled", "rejected"]);
  await expect(restoreItems(services, { ownerId: full.userId, ids: [id] })).rejects.toMatchObject({
    code: "bad_request",
  });
  expect(await put(others[0] ?? "", "Coat")).toMatchObject({ name: "Coat" });
});
