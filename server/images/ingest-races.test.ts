import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { addGuest, addUser, listObjects, readSample, rowsOf } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ingest } from "./index.ts";

let opened: TestServices;

beforeAll(async () => {
  opened = await createTestServices({ config: { limits: { guestImages: 3 } } });
});
afterAll(() => opened.close());

test("A5 20 simultaneous uploads of the same bytes end with one row and three objects", async () => {
  const owner = await addUser(opened.services);
  const other = await opened.openAnother();
  const bytes = await readSample("rocket.jpg");
  const racers = Array.from({ length: 20 }, (_, at) =>
    ingest(at % 2 ? other : opened.services, { ownerId: owner, role: "upload", bytes }),
  );
  const images = await Promise.all(racers);
  expect(new Set(images.map(({ id }) => id)).size).toBe(1);
  expect(images.filter(({ created }) => created)).toHaveLength(1);
  expect(await rowsOf(opened.services, owner)).toHaveLength(1);
  const objects = (await listObjects(opened.services)).filter((key) => key.startsWith(`users/${owner}/`));
  expect(objects).toHaveLength(3);
  expect(objects[0]).toContain(images[0]?.id);
});

test("the same bytes of another owner, or in another role, are a picture of their own", async () => {
  const [first, second] = [await addUser(opened.services), await addUser(opened.services)];
  const bytes = await readSample("chelsea.png");
  const taken = [
    await ingest(opened.services, { ownerId: first, role: "upload", bytes }),
    await ingest(opened.services, { ownerId: second, role: "upload", bytes }),
    await ingest(opened.services, { ownerId: first, role: "mask", bytes }),
  ];
  expect(new Set(taken.map(({ id }) => id)).size).toBe(3);
});

test("a guest keeps at most the configured number, also when uploads race, and may send known bytes again", async () => {
  const guest = await addGuest(opened.services);
  const picture = (width: number) =>
    sharp({ create: { width, height: 9, channels: 3, background: "red" } })
      .png()
      .toBuffer();
  const send = async (width: number) =>
    ingest(opened.services, { ownerId: guest, role: "upload", bytes: await picture(width) });
  const results = await Promise.allSettled([10, 11, 12, 13, 14, 15, 16, 17].map(send));
  const refused = results.filter((result) => result.status === "rejected").map((result) => result.reason);
  expect(refused).toHaveLength(5);
  for (const error of refused)
    expect(error).toMatchObject({
      code: "quota_exceeded",
      message: expect.stringContaining("Guests can keep 3 pictures"),
    });
  const kept = await rowsOf(opened.services, guest);
  expect(kept).toHaveLength(3);
  expect(
    (await listObjects(opened.services)).filter((key) => key.startsWith(`users/${guest}/`)),
  ).toHaveLength(9);
  expect(await send(kept[0]?.widthPx ?? 0)).toMatchObject({ created: false });
});

test("A5 a row that cannot be inserted takes its objects along", async () => {
  const before = await listObjects(opened.services);
  const nobody = { ownerId: "nobody", role: "upload", bytes: await readSample("coffee.png") } as const;
  await expect(ingest(opened.services, nobody)).rejects.toMatchObject({ cause: { code: "23503" } });
  expect(await listObjects(opened.services)).toEqual(before);
});

test("A5 a store that cannot be written leaves no row", async () => {
  const owner = await addUser(opened.services);
  const blocked = path.join(opened.services.env.ATELIER_DATA_DIR, "files/users", owner);
  await mkdir(path.dirname(blocked), { recursive: true });
  await writeFile(blocked, "a file where a folder must be");
  const bytes = await readSample("coffee.png");
  await expect(ingest(opened.services, { ownerId: owner, role: "upload", bytes })).rejects.toMatchObject({
    code: "storage_unavailable",
  });
  expect(await rowsOf(opened.services, owner)).toEqual([]);
  await rm(blocked);
  expect(await ingest(opened.services, { ownerId: owner, role: "upload", bytes })).toMatchObject({
    created: true,
  });
});

test("A5 an aborted upload leaves nothing", async () => {
  const owner = await addUser(opened.services);
  const bytes = await readSample("astronaut.png");
  const aborting = new AbortController();
  const taken = ingest(opened.services, { ownerId: owner, role: "upload", bytes, signal: aborting.signal });
  aborting.abort();
  await expect(taken).rejects.toMatchObject({ name: "AbortError" });
  expect(await rowsOf(opened.services, owner)).toEqual([]);
  expect((await listObjects(opened.services)).filter((key) => key.includes(owner))).toEqual([]);
});
