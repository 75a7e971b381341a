import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newId } from "../platform/index.ts";
import {
  changeImage,
  countMonths,
  dateImages,
  getImage,
  ingest,
  listImages,
  removeImages,
  restoreImages,
} from "./index.ts";

let opened: TestServices;
let ownerId: string;
beforeAll(async () => void (opened = await createTestServices()));
afterAll(() => opened.close());
beforeEach(async () => void (ownerId = await addUser(opened.services)));

let colour = 0;
/** A picture of another colour each time; with a day it is a photo that was taken at noon of that day. */
async function add(day?: string, owner = ownerId): Promise<string> {
  colour += 1;
  const plain = sharp({
    create: { width: 12, height: 8, channels: 3, background: { r: colour, g: 9, b: 9 } },
  });
  const photo =
    day === undefined
      ? plain
      : plain.withExif({ IFD2: { DateTimeOriginal: `${day.replaceAll("-", ":")} 12:00:00` } });
  const bytes = await photo.jpeg().toBuffer();
  return (await ingest(opened.services, { ownerId: owner, role: "upload", bytes, timezone: "UTC" })).id;
}
type Dates =
  | { ids: string[]; createdAt: string | null }
  | { ids: string[]; shiftS: number }
  | { dates: { id: string; createdAt: string | null }[] };
const date = (input: Dates) => dateImages(opened.services, { ...input, ownerId });
const idsOf = async (search?: string) =>
  (await listImages(opened.services, { ownerId, search })).items.map(({ id }) => id);
const view = (id: string) => getImage(opened.services, { ownerId, id });
const at = "2016-07-12T08:11:12.000Z";

test("a day that is given is that of lists, days, months and searches, and is taken back", async () => {
  const [scan, photo] = [await add(), await add("2019-03-02")];
  const [ofScan, ofPhoto] = [await view(scan), await view(photo)];
  expect(await date({ ids: [scan], createdAt: at })).toEqual({ before: [{ id: scan, createdAt: null }] });
  expect(await view(scan)).toEqual({ ...ofScan, createdAt: at });
  expect(await idsOf()).toEqual([photo, scan]);
  expect(await idsOf("from:2016-07-12 to:2016-07-12")).toEqual([scan]);
  expect(await idsOf("july 2016")).toEqual([scan]);
  expect(await countMonths(opened.services, { ownerId })).toEqual([
    { month: "2019-03", pictures: 1 },
    { month: "2016-07", pictures: 1 },
  ]);
  const again = "2015-01-01T00:00:00.000Z";
  expect(await date({ ids: [scan, photo], createdAt: again })).toEqual({
    before: [
      { id: scan, createdAt: at },
      { id: photo, createdAt: null },
    ],
  });
  expect((await view(photo)).addedAt).toBe(ofPhoto.addedAt);
  await date({ ids: [scan, photo], createdAt: null });
  expect([await view(scan), await view(photo)]).toEqual([ofScan, ofPhoto]);
  await date({ ids: [scan, photo], createdAt: null });
  expect([await view(scan), await view(photo)]).toEqual([ofScan, ofPhoto]);
});

test("a selection is shifted, and undo gives each its own back", async () => {
  const [one, two, scan] = [await add("2019-03-02"), await add("2019-03-03"), await add()];
  const views = async () => [await view(one), await view(two), await view(scan)];
  await date({ ids: [two], createdAt: at });
  const before = await views();
  const hourS = 3_600;
  const { before: undo } = await date({ ids: [one, two], shiftS: -36 * hourS });
  expect((await views()).map(({ createdAt }) => createdAt)).toEqual([
    "2019-03-01T00:00:00.000Z",
    "2016-07-10T20:11:12.000Z",
    before[2]?.createdAt,
  ]);
  await date({ dates: undo });
  expect(await views()).toEqual(before);
});

test.each(["1825-12-31T23:59:59Z", "2999-01-01T00:00:00Z"])(
  "%s is refused, and no picture changes",
  async (createdAt) => {
    const [one, two] = [await add("2019-03-02"), await add("1826-01-02")];
    await expect(date({ ids: [one, two], createdAt })).rejects.toMatchObject({ code: "bad_request" });
    await expect(date({ ids: [one, two], shiftS: -10 * 86_400 })).rejects.toMatchObject({
      code: "bad_request",
    });
    expect((await view(one)).createdAt).toBe("2019-03-02T12:00:00.000Z");
  },
);

test("pictures of others and of the trash stay as they are, and the day outlives the trash", async () => {
  const other = await addUser(opened.services);
  const [foreign, trashed] = [await add("2019-03-02", other), await add()];
  await date({ ids: [trashed], createdAt: at });
  await removeImages(opened.services, { ownerId, ids: [trashed] });
  expect(await date({ ids: [foreign, trashed, newId()], createdAt: null })).toEqual({ before: [] });
  await restoreImages(opened.services, { ownerId, ids: [trashed] });
  expect((await view(trashed)).createdAt).toBe(at);
  expect((await getImage(opened.services, { ownerId: other, id: foreign })).createdAt).toBe(
    "2019-03-02T12:00:00.000Z",
  );
});

test("a program gives and takes back the day beside other changes, or nothing of all", async () => {
  const id = await add();
  const before = await view(id);
  const change = (more: { title?: string; createdAt?: string | null }) =>
    changeImage(opened.services, { ownerId, id, ...more });
  expect(await change({ title: "Scan", createdAt: at })).toEqual({ ...before, title: "Scan", createdAt: at });
  await expect(change({ title: "No", createdAt: "1700-01-01T00:00:00Z" })).rejects.toMatchObject({
    code: "bad_request",
  });
  expect((await view(id)).title).toBe("Scan");
  expect(await change({ createdAt: null })).toEqual({ ...before, title: "Scan" });
});
