import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  addGuest,
  addUser,
  listObjects,
  readFileOf,
  readRow,
  readSample,
  rowsOf,
} from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { inAll } from "@atelier/testing/cases";
import { schema } from "../db/index.ts";
import { openLocalDisk } from "../storage/index.ts";
import {
  announcedSchema,
  beginUpload,
  checkStore,
  copyPicture,
  finishUpload,
  getImageByHash,
  ingest,
  isStoreCheckDue,
  readUsage,
  receiveUpload,
  removeImages,
  restoreImages,
  sweepOrphanObjects,
} from "./index.ts";
import { lockUploadsOf } from "./quota.ts";
import { isLost, openOriginal } from "./serve.ts";
import { markKey } from "./store-mark.ts";

let opened: TestServices;
afterAll(() => opened.close());

const small = (width: number) =>
  sharp({ create: { width, height: 10, channels: 3, background: "blue" } })
    .png()
    .toBuffer();

const photoOf = async (width: number) =>
  sharp(await readSample("rocket.jpg"))
    .resize(width)
    .jpeg()
    .toBuffer();

/** The path of a file of a picture; of one that is not there, a path to nothing. */
const fileOf = async (id: string, variant: string) => {
  const { storageKey } = await readRow(opened.services, id);
  const key = (await listObjects(opened.services)).find((one) => one.startsWith(`${storageKey}/${variant}.`));
  return path.join(opened.services.env.ATELIER_DATA_DIR, "files", key ?? "none");
};

/** Another process writes pictures of this owner until `letGo`. */
async function holdUploads(owner: string) {
  const other = await opened.openAnother();
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = other.db.transaction(async (tx) => {
    await lockUploadsOf(tx, owner);
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  return {
    isWaitedFor: () =>
      vi.waitFor(async () => {
        const rows = await other.db.execute<{ waiting: number }>(sql`
          select count(*)::int as waiting from pg_locks l join pg_stat_activity a using (pid)
          where l.locktype = 'advisory' and not l.granted and a.datname = current_database()`);
        expect(rows[0]?.waiting).toBeGreaterThan(0);
      }),
    letGo() {
      held.resolve();
      return holding;
    },
  };
}

describe("ingest races", () => {
  beforeAll(async () => {
    opened = await createTestServices({ config: { limits: { guestImages: 3, bytesPerUser: 6_000_000 } } });
  });

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

  test.each(["original", "preview", "thumbnail"])(
    "a picture whose %s is gone or empty in the store gets its files by the same bytes",
    async (variant) => {
      const { services } = opened;
      const owner = await addUser(services);
      const photo = sharp(await readSample("rocket.jpg")).resize(300 + variant.length);
      const bytes = await photo.jpeg().toBuffer();
      const same = { ownerId: owner, role: "upload" } as const;
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const announced = {
        ...announcedSchema.parse({ sizeBytes: bytes.length, sha256 }),
        role: "upload",
      } as const;
      const send = async () => {
        const { id, created } = await ingest(services, { ...same, bytes });
        return { id, created };
      };
      const isKnown = async () => [
        "known" in (await beginUpload(services, { ownerId: owner, announced })),
        await getImageByHash(services, { ...same, sha256 }).then(Boolean, () => false),
      ];
      const { config } = services;
      const soon = { ...config, retention: { ...config.retention, orphanObjectMs: -1_000 } };
      const files = path.join(services.env.ATELIER_DATA_DIR, "files");
      const theirs = async () =>
        (await listObjects(services)).filter((key) => key.startsWith(`users/${owner}/`));
      const { id } = await send();
      const find = () => fileOf(id, variant);
      expect(await checkStore(services)).toBe("own");
      const whole = await readFile(await find());
      for (const lose of [rm, truncate]) {
        await lose(await find());
        const objects = await theirs();
        // Another store in place of the studio's own, as below a disk that is not mounted: nothing is lost for good.
        await rename(path.join(files, markKey), path.join(files, "mark"));
        expect([await send(), await isKnown()]).toEqual([{ id, created: false }, [true, true]]);
        await rename(path.join(files, "mark"), path.join(files, markKey));
        expect(await theirs()).toEqual(objects);

        expect(await isKnown()).toEqual([false, false]);
        expect(await Promise.all([send(), send()])).toEqual([
          { id, created: false },
          { id, created: false },
        ]);
        expect((await readFile(await find())).equals(whole)).toBe(true);
        expect(await isKnown()).toEqual([true, true]);
        // A job that read the row before may still use the old files: the sweep takes them later.
        await sweepOrphanObjects(services);
        expect((await theirs()).filter((key) => objects.includes(key))).toEqual(objects);
        await sweepOrphanObjects({ ...services, config: soon });
        expect(await theirs()).toHaveLength(3);
      }
      expect(await rowsOf(services, owner)).toHaveLength(1);
    },
  );

  test("a copy of another's picture whose file is gone gets its files by the next copy", async () => {
    const { services } = opened;
    const [owner, other] = [await addUser(services), await addUser(services)];
    const bytes = await sharp(await readSample("rocket.jpg"))
      .resize(290)
      .jpeg()
      .toBuffer();
    const { id } = await ingest(services, { ownerId: owner, role: "upload", bytes });
    const source = await readRow(services, id);
    const copy = () => copyPicture(services, { source, ownerId: other });
    const first = await copy();
    expect(await checkStore(services)).toBe("own");
    const whole = await readFileOf(services, first.id, "original");
    const { storageKey } = await readRow(services, first.id);
    await rm(path.join(services.env.ATELIER_DATA_DIR, "files", storageKey), { recursive: true });
    expect(await copy()).toMatchObject({ id: first.id, created: false });
    expect((await readFileOf(services, first.id, "original")).equals(whole)).toBe(true);
    expect(await rowsOf(services, other)).toHaveLength(1);
  });

  test("a picture that lacks a file and goes to the trash while its bytes are sent keeps the others", async () => {
    const { services } = opened;
    const owner = await addUser(services);
    const upload = { ownerId: owner, role: "upload", bytes: await photoOf(281) } as const;
    const { id } = await ingest(services, upload);
    expect(await checkStore(services)).toBe("own");
    const row = await readRow(services, id);
    const whole = await readFileOf(services, id, "original");
    await rm(await fileOf(id, "thumbnail"));
    const uploads = await holdUploads(owner);
    const sending = ingest(services, upload);
    await uploads.isWaitedFor();
    await removeImages(services, { ownerId: owner, ids: [id] });
    await uploads.letGo();
    const sent = await sending;
    expect([sent.id === id, sent.created]).toEqual([false, true]);
    expect((await readFileOf(services, id, "original")).equals(whole)).toBe(true);
    expect((await buffer(await openOriginal(services, row))).equals(whole)).toBe(true);
  });

  test("an owner without room for more gets lost files back on every way", async () => {
    const { services } = opened;
    const [owner, other] = [await addUser(services), await addUser(services)];
    const bytes = await photoOf(282);
    const { id } = await ingest(services, { ownerId: owner, role: "upload", bytes });
    const source = await readRow(services, id);
    const copy = () => copyPicture(services, { source, ownerId: other });
    const copied = await copy();
    expect(await checkStore(services)).toBe("own");
    for (const one of [id, copied.id]) await rm(await fileOf(one, "original"));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const announced = announcedSchema.parse({ sizeBytes: bytes.length, sha256 });
    services.config.limits.bytesPerUser = 1;
    try {
      const begun = await beginUpload(services, { ownerId: owner, announced });
      if ("known" in begun) throw new Error("its file is lost");
      await receiveUpload(services, { ownerId: owner, id: begun.id, body: () => Readable.from([bytes]) });
      const { signal } = new AbortController();
      expect(await finishUpload(services, { ownerId: owner, id: begun.id, signal })).toMatchObject({ id });
      const whole = await readRow(services, id);
      expect(await copyPicture(services, { source: whole, ownerId: other })).toMatchObject({ id: copied.id });
    } finally {
      services.config.limits.bytesPerUser = 6_000_000;
    }
    for (const one of [id, copied.id])
      expect(await isLost(services, await readRow(services, one))).toBe(false);
  });

  test.each([
    ["is gone", rm],
    ["is cut off", (file: string) => truncate(file, 10)],
    ["is overwritten", async (file: string) => writeFile(file, Buffer.alloc((await readFile(file)).length))],
  ])("a source whose file %s gives a copy nothing, and takes nothing from it", async (_how, damage) => {
    const { services } = opened;
    const [owner, other, third] = [await addUser(services), await addUser(services), await addUser(services)];
    const upload = { ownerId: owner, role: "upload", bytes: await photoOf(283) } as const;
    const source = await readRow(services, (await ingest(services, upload)).id);
    const { id } = await copyPicture(services, { source, ownerId: other });
    expect(await checkStore(services)).toBe("own");
    const row = await readRow(services, id);
    const whole = await readFileOf(services, id, "original");
    await rm(await fileOf(id, "thumbnail"));
    await damage(await fileOf(source.id, "original"));
    const objects = await listObjects(services);
    expect(await copyPicture(services, { source, ownerId: other })).toMatchObject({ id, created: false });
    expect(await readRow(services, id)).toEqual(row);
    expect((await readFileOf(services, id, "original")).equals(whole)).toBe(true);
    await expect(copyPicture(services, { source, ownerId: third })).rejects.toMatchObject({
      code: "file_missing",
    });
    expect(await listObjects(services)).toEqual(objects);
  });

  test("a store that is silent holds up known bytes for seconds alone, and tells of no loss", async () => {
    const { services } = opened;
    const owner = await addUser(services);
    const { id } = await ingest(services, { ownerId: owner, role: "upload", bytes: await photoOf(284) });
    const row = await readRow(services, id);
    const find = vi.spyOn(services.disk.driver, "find").mockReturnValue(new Promise(() => undefined));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const answers: boolean[] = [];
      void isLost(services, row).then((answer) => answers.push(answer));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(answers).toEqual([false]);
      expect(find).toHaveBeenCalledTimes(3);
    } finally {
      vi.useRealTimers();
      find.mockRestore();
    }
  });

  test("known bytes that are sent again do not put off the check of the store", async () => {
    const { services } = opened;
    const owner = await addUser(services);
    const upload = { ownerId: owner, role: "upload", bytes: await photoOf(285) } as const;
    const { id } = await ingest(services, upload);
    await checkStore(services);
    await rm(await fileOf(id, "thumbnail"));
    const disk = openLocalDisk(services.env);
    const find = vi.spyOn(disk, "open");
    await ingest({ ...services, disk }, upload);
    // The mark was read.
    expect(find).toHaveBeenCalledWith(markKey);
    expect(isStoreCheckDue({ disk, config: services.config })).toBe(true);
    await checkStore({ ...services, disk });
    expect(isStoreCheckDue({ disk, config: services.config })).toBe(false);
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

  test("a guest cannot get past the limit by deleting, uploading and restoring", async () => {
    const { services } = opened;
    const guest = await addGuest(services);
    const send = async (width: number) =>
      ingest(services, { ownerId: guest, role: "upload", bytes: await small(width) });
    const first = await Promise.all([31, 32, 33].map(send));
    const ids = first.map(({ id }) => id);
    await removeImages(services, { ownerId: guest, ids });
    await expect(send(34)).rejects.toMatchObject({ code: "quota_exceeded" });
    expect((await restoreImages(services, { ownerId: guest, ids })).toSorted()).toEqual(ids.toSorted());
  });

  test("a guest restores nothing when that would be too many, and uploads of the moment are counted", async () => {
    const { services } = opened;
    const { limits } = services.config;
    const guest = await addGuest(services);
    const send = async (width: number) =>
      ingest(services, { ownerId: guest, role: "upload", bytes: await small(width) });
    const ids = (await Promise.all([41, 42, 43].map(send))).map(({ id }) => id);
    await removeImages(services, { ownerId: guest, ids });
    limits.guestImages = 2;
    try {
      await expect(restoreImages(services, { ownerId: guest, ids })).rejects.toMatchObject({
        code: "quota_exceeded",
      });
    } finally {
      limits.guestImages = 3;
    }
    expect((await rowsOf(services, guest)).filter(({ deletedAt }) => deletedAt === null)).toEqual([]);
  });

  test("all guests together have a total of bytes, which no account is refused for", inAll, async () => {
    const bytesOfGuests = 120_000;
    const studio = await createTestServices({ config: { limits: { bytesOfGuests } } });
    const { services } = studio;
    const [bytes, others] = [await readSample("rocket.jpg"), await readSample("astronaut.png")];
    const upload = (ownerId: string, file = others) =>
      ingest(services, { ownerId, role: "upload", bytes: file });
    try {
      const [first, second] = [await addGuest(services), await addGuest(services)];
      const { id } = await upload(first, bytes);
      const own = eq(schema.images.id, id);
      await services.db.update(schema.images).set({ sizeBytes: bytesOfGuests }).where(own);
      vi.spyOn(performance, "now").mockReturnValue(performance.now() + 10_000);
      const announced = announcedSchema.parse({ mime: "image/png", sizeBytes: others.length });
      const refused = { code: "storage_quota", message: /all guests/ };
      for (const ownerId of [first, second]) {
        await expect(upload(ownerId)).rejects.toMatchObject(refused);
        const mask = ingest(services, { ownerId, role: "mask", bytes: others });
        await expect(mask).rejects.toMatchObject(refused);
        await expect(beginUpload(services, { ownerId, announced })).rejects.toMatchObject(refused);
      }
      await upload(await addUser(services));
      await services.db.delete(schema.images).where(own);
      vi.spyOn(performance, "now").mockReturnValue(performance.now() + 20_000);
      await upload(second, bytes);
    } finally {
      vi.restoreAllMocks();
      await studio.close();
    }
  });

  test("the pictures of an account take up at most the configured bytes, deleted ones included", async () => {
    const { services } = opened;
    const owner = await addUser(services);
    const bytes = await readSample("astronaut.png");
    const { id } = await ingest(services, { ownerId: owner, role: "upload", bytes });
    const { usedBytes, limitBytes } = await readUsage(services, owner);
    expect(limitBytes).toBe(6_000_000);
    expect(usedBytes).toBe((await rowsOf(services, owner))[0]?.sizeBytes);
    await removeImages(services, { ownerId: owner, ids: [id] });
    expect(await readUsage(services, owner)).toEqual({ usedBytes, limitBytes });
    services.config.limits.bytesPerUser = usedBytes + 1_000;
    try {
      const objects = await listObjects(services);
      const next = ingest(services, {
        ownerId: owner,
        role: "upload",
        bytes: await readSample("coffee.png"),
      });
      await expect(next).rejects.toMatchObject({
        code: "storage_quota",
        details: { usedBytes, limitBytes: usedBytes + 1_000 },
      });
      expect(await listObjects(services)).toEqual(objects);
    } finally {
      services.config.limits.bytesPerUser = 6_000_000;
    }
  });

  test("uploads and restores of one owner that wait for a lock leave the connections to others", async () => {
    const { services } = opened;
    const owner = await addUser(services);
    const send = async (width: number) =>
      ingest(services, { ownerId: owner, role: "upload", bytes: await small(width) });
    const { id } = await send(51);
    await removeImages(services, { ownerId: owner, ids: [id] });
    const held = await holdUploads(owner);
    const restores = Array.from({ length: 20 }, () => restoreImages(services, { ownerId: owner, ids: [id] }));
    const uploads = [52, 53].map(send);
    await held.isWaitedFor();
    // Without turns each of them holds one of the ten connections, and this finds none.
    const answers = Array.from({ length: 9 }, () => services.db.execute(sql`select 1`));
    await Promise.all(answers);
    await held.letGo();
    expect((await Promise.all(restores)).flat()).toEqual([id]);
    await Promise.all(uploads);
  });
});
