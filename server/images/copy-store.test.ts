import { stat, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { addUser, listObjects, readSample } from "@atelier/testing/pictures";
import { startS3, type TestS3 } from "@atelier/testing/s3";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ImageDisk, openBucket, openLocalDisk, removePrefix } from "../storage/index.ts";
import { checkStore, copyStore, ingest, isStoreCheckDue, openFile } from "./index.ts";

let s3: TestS3;
let opened: TestServices;
let files: ImageDisk;
let bucket: ImageDisk;
let ownerId: string;
const ids: string[] = [];

beforeAll(async () => {
  [s3, opened] = await Promise.all([startS3(), createTestServices()]);
  const { services } = opened;
  files = services.disk;
  bucket = await openBucket({ ...services.env, ...s3.env });
  ownerId = await addUser(services);
  await checkStore(services);
  for (const name of ["coffee.png", "rocket.jpg", "chelsea.png"])
    ids.push((await ingest(services, { ownerId, role: "upload", bytes: await readSample(name) })).id);
});
afterAll(async () => {
  bucket.close();
  await opened.close();
  await s3.destroy();
});

const copy = (from: ImageDisk, to: ImageDisk, change: { isVerified?: boolean; isMove?: boolean } = {}) =>
  copyStore({ from, to, isVerified: false, isMove: false, onProgress: () => undefined, ...change });

test("A16 a copy that was broken off is refused as a store, and goes on where it ended", async () => {
  const { services } = opened;
  const over = new Error("ended");
  let told = 0;
  const broken = copyStore({
    from: files,
    to: bucket,
    isVerified: false,
    isMove: true,
    onProgress({ copied }) {
      told += 1;
      if (copied === 4) throw over;
    },
  });
  await expect(broken).rejects.toThrow(over);
  // Those that were under way with it have ended.
  expect(told).toBe(8);
  expect(await checkStore({ ...services, disk: bucket })).toBe("other");
  expect(await copy(files, bucket)).toMatchObject({ copied: 1, skipped: 8 });
  expect(await checkStore({ ...services, disk: bucket })).toBe("other");
  expect(await copy(files, bucket, { isVerified: true, isMove: true })).toMatchObject({
    copied: 0,
    skipped: 9,
  });
  // From here on the old store is refused, so that no process that was forgotten goes on with it.
  const { config } = services;
  expect(
    isStoreCheckDue({ disk: files, config: { ...config, timing: { ...config.timing, probeMs: 0 } } }),
  ).toBe(true);
  expect(await checkStore(services)).toBe("other");
  expect(
    isStoreCheckDue({ disk: files, config: { ...config, timing: { ...config.timing, probeMs: 60_000 } } }),
  ).toBe(false);
  expect(await checkStore({ ...services, disk: bucket })).toBe("own");
  for (const id of ids) {
    const { body } = await openFile({ ...services, disk: bucket }, { ownerId, id, variant: "original" });
    expect(body).not.toBeNull();
    body?.destroy();
  }
});

test("A16 the way back gives the same files, and a damaged copy is found", async () => {
  const { services } = opened;
  const keys = await listObjects(services);
  await removePrefix(files, "users");
  expect(await listObjects(services)).toEqual([]);
  expect(await copy(bucket, openLocalDisk(services.env), { isVerified: true })).toMatchObject({ copied: 9 });
  expect(await listObjects(services)).toEqual(keys);
  const file = path.join(services.env.ATELIER_DATA_DIR, "files", keys[0] ?? "");
  await truncate(file, 10);
  expect(await copy(bucket, files)).toMatchObject({ copied: 1 });
  const { size } = await stat(file);
  await writeFile(file, Buffer.alloc(size));
  await expect(copy(bucket, files, { isVerified: true })).rejects.toThrow(/differs in the copy/);
});

test("A16 neither a source without a mark nor another studio's store as target is copied", async () => {
  const other = await createTestServices();
  try {
    await expect(copy(other.services.disk, bucket)).rejects.toMatchObject({ code: "conflict" });
    expect(await checkStore(other.services)).toBe("own");
    await expect(copy(bucket, other.services.disk)).rejects.toMatchObject({ code: "conflict" });
    expect(await listObjects(other.services)).toEqual([]);
  } finally {
    await other.close();
  }
});
