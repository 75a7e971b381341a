import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { addUser, readSample } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterEach, beforeEach, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { openLocalDisk } from "../storage/index.ts";
import { checkStore, ingest, readMark } from "./index.ts";

let opened: TestServices;
let elsewhere: string;

beforeEach(async () => {
  opened = await createTestServices();
  elsewhere = await mkdtemp(path.join(os.tmpdir(), "atelier-elsewhere-"));
});
afterEach(async () => {
  await opened.close();
  await rm(elsewhere, { recursive: true, force: true });
});

const withStore = (folder: string): Services => ({
  ...opened.services,
  disk: openLocalDisk({ ATELIER_DATA_DIR: folder }),
});

test("A16 the first process marks the store, also when many come at once; another store is refused", async () => {
  const { services } = opened;
  const states = await Promise.all(Array.from({ length: 5 }, () => checkStore(services)));
  expect(states).toEqual(Array.from({ length: 5 }, () => "own"));
  const [row] = await services.db.select().from(schema.studio);
  expect(await readMark(services.disk)).toBe(row?.storeMark);
  expect(await checkStore(withStore(elsewhere))).toBe("other");
  expect(await checkStore(services)).toBe("own");
});

test("A16 the store of another installation is refused, since the sweep of each would remove the other's pictures", async () => {
  const other = await createTestServices();
  try {
    expect(await checkStore(other.services)).toBe("own");
    expect(await checkStore(withStore(other.services.env.ATELIER_DATA_DIR))).toBe("other");
    expect(await checkStore(opened.services)).toBe("own");
  } finally {
    await other.close();
  }
});

test("A16 an installation that is older than the mark knows its store by the newest picture", async () => {
  const { services } = opened;
  const ownerId = await addUser(services);
  await ingest(services, { ownerId, role: "upload", bytes: await readSample("coffee.png") });
  expect(await checkStore(withStore(elsewhere))).toBe("other");
  expect(await readMark(withStore(elsewhere).disk)).toBeNull();
  expect(await checkStore(services)).toBe("own");
});

test("A16 a process that ended between the row and the object, or after it, locks nobody out", async () => {
  const { services } = opened;
  await services.db.insert(schema.studio).values({ storeMark: newId() });
  expect(await checkStore(services)).toBe("own");
  await services.db.update(schema.studio).set({ storeMarkedAt: null });
  expect(await checkStore(services)).toBe("own");
});

test("A3 a store that cannot be read is away, before and after it was marked", async () => {
  // A file where the folder should be.
  const broken = withStore("/dev/null");
  expect(await checkStore({ ...broken, disk: unreadable(broken.disk) })).toBe("away");
  expect(await checkStore(opened.services)).toBe("own");
  expect(await checkStore({ ...broken, disk: unreadable(broken.disk) })).toBe("away");
});

/** A disk whose every read fails. */
function unreadable(disk: Services["disk"]): Services["disk"] {
  disk.open = () => Promise.reject(new Error("input/output error"));
  return disk;
}
