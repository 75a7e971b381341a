import { randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { addImage, addJob } from "@atelier/testing/jobs";
import { addGuest, addUser, readFileOf, readSample } from "@atelier/testing/pictures";
import { createTestServices, openOwner, type TestOwner, type TestServices } from "@atelier/testing/services";
import { readZip } from "@atelier/testing/zip";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { userTables } from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import { ingest, removeImages } from "../images/index.ts";
import { AppError, newId, sharesOf } from "../platform/index.ts";
import { exportBounds, watchPace } from "./export.ts";
import { openExport, suspend } from "./index.ts";

let fixture: TestServices;
let owner: TestOwner;
let userId: string;

beforeAll(async () => {
  fixture = await createTestServices();
  owner = await openOwner(fixture.services, "owner@example.com");
  ({ userId } = owner.caller);
});
afterAll(() => fixture.close());

const { signal } = new AbortController();
const isAllowed = () => Promise.resolve(true);
const open = (id: string) => openExport(fixture.services, { userId: id, signal, isAllowed });
const jsonOf = (files: Map<string, Buffer>, name: string) =>
  JSON.parse(files.get(name)?.toString() ?? "null");

/** Waits until an export has ended and the next may begin. */
async function untilFree(id: string) {
  const { users } = schema;
  await expect
    .poll(() => fixture.services.db.select().from(users).where(eq(users.id, id)))
    .toMatchObject([{ exportUntil: null }]);
}

test("an export holds pictures byte by byte, masks, jobs with settings, and the account without secrets", async () => {
  const { services } = fixture;
  const bytes = await readSample("rocket.jpg");
  const mask = await ingest(services, { ownerId: userId, role: "mask", bytes });
  const names = ["../../etc/passwd\u202e.png", 'Zoë\'s "café": 猫?*.jpg', "", "CON.png", "a".repeat(200)];
  const named = [];
  for (const name of names) {
    const id = await addImage(services, userId);
    await services.db
      .update(schema.images)
      .set({ title: name.slice(0, 120) })
      .where(eq(schema.images.id, id));
    named.push(id);
  }
  // Of before the beginning of all clocks of computers.
  const createdAt = new Date("1926-05-04T10:00:00Z");
  await services.db
    .update(schema.images)
    .set({ createdAt })
    .where(eq(schema.images.id, named[0] ?? ""));
  const removed = await addImage(services, userId);
  await removeImages(services, { ownerId: userId, ids: [removed] });
  const foreign = await addImage(services, await addUser(services));

  const files = readZip(await buffer(await open(userId)));
  await untilFree(userId);
  for (const id of [owner.imageId, mask.id, ...named]) {
    const found = [...files].filter(([name]) => name.includes(id));
    expect(found).toHaveLength(1);
    const [name = "", content] = found[0] ?? [];
    expect(content?.equals(await readFileOf(services, id, "original"))).toBe(true);
    expect(name).toMatch(/^(uploads|masks)\/\d{4}-\d{2}-\d{2}_[\p{L}\p{M}\p{N} _-]+\.(png|jpg|webp)$/u);
    expect(Buffer.byteLength(name)).toBeLessThan(255);
  }
  expect([...files.keys()].filter((name) => name.startsWith("masks/"))).toHaveLength(1);
  const all = [...files.keys()].join("\n");
  for (const id of [removed, foreign]) expect(all).not.toContain(id);

  const pictures = jsonOf(files, "pictures.json") as { id: string; file: string }[];
  for (const { id, file } of pictures) expect([id, files.has(file)]).toEqual([id, true]);
  expect(pictures.map(({ id }) => id).toSorted()).toEqual([owner.imageId, mask.id, ...named].toSorted());
  expect(jsonOf(files, "jobs.json")).toMatchObject([{ id: owner.jobId, kind: "upscale", params: {} }]);
  const account = jsonOf(files, "account.json");
  expect(account.users).toMatchObject([{ id: userId, email: "owner@example.com" }]);
  expect(account.api_keys).toMatchObject([{ name: "test" }]);
  const rows = Object.keys(userTables).filter((table) => userTables[table]?.inExport === "rows");
  expect(Object.keys(account).toSorted()).toEqual(rows.toSorted());
});

test("an export holds no hash and no token", async () => {
  const { db } = fixture.services;
  const files = readZip(await buffer(await open(userId)));
  const text = files.get("account.json")?.toString() ?? "";
  const [key] = await db.select().from(schema.apiKeys);
  const [session] = await db.select().from(schema.sessions).where(eq(schema.sessions.userId, userId));
  const [credential] = await db.select().from(schema.credentials);
  for (const secret of [key?.key, session?.token, credential?.password]) {
    expect(secret).toBeTruthy();
    expect(text).not.toContain(secret);
  }
});

test("columns with secrets are named by their tables, so that a new one is not exported unseen", async () => {
  const found: string[] = [];
  for (const [table, { secrets = [] }] of Object.entries(userTables)) {
    const rows = await fixture.services.db.execute<{ name: string }>(
      `select column_name as name from information_schema.columns where table_schema = 'public' and table_name = '${table}'`,
    );
    const names = rows.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...secrets]));
    const suspicious = names.filter((name) => /token$|token_hash|password|secret|^key$/.test(name));
    found.push(...suspicious.filter((name) => !secrets.includes(name)).map((name) => `${table}.${name}`));
  }
  // Names as searches compare them, and the client's own word for a request.
  expect(found).toEqual(["tags.key", "boards.key", "presets.key", "idempotency_keys.key"]);
});

test("a picture whose file is gone is named, and does not keep the others from their owner", async () => {
  const { services } = fixture;
  const guestId = await addGuest(services);
  const [lost, kept] = [await addImage(services, guestId), await addImage(services, guestId)];
  await services.disk.driver.removeBelow(`users/${guestId}/${lost}`);
  const files = readZip(await buffer(await open(guestId)));
  expect(jsonOf(files, "pictures.json")).toMatchObject([
    { id: lost, file: null },
    { id: kept, file: expect.stringContaining(kept) },
  ]);
  expect([...files.keys()].filter((name) => name.startsWith("uploads/"))).toHaveLength(1);
});

test("one export of a user at a time in the whole studio; one that is left frees the place", async () => {
  const { services } = fixture;
  const another = await fixture.openAnother();
  const first = await open(userId);
  for (const process of [services, another])
    await expect(openExport(process, { userId, signal, isAllowed })).rejects.toMatchObject({
      code: "rate_limited",
    });
  // Another user's goes on beside it.
  const otherId = await addUser(services);
  expect(readZip(await buffer(await open(otherId))).has("account.json")).toBe(true);
  first.destroy();
  await untilFree(userId);
  const gone = new AbortController();
  const second = await openExport(another, { userId, signal: gone.signal, isAllowed });
  gone.abort();
  await expect(buffer(second)).rejects.toMatchObject({ code: "ERR_STREAM_PREMATURE_CLOSE" });
  await untilFree(userId);
  // A process that was killed leaves its mark for a minute.
  await services.db
    .update(schema.users)
    .set({ exportUntil: new Date(Date.now() - 1_000) })
    .where(eq(schema.users.id, userId));
  expect(readZip(await buffer(await open(userId))).size).toBeGreaterThan(3);
});

test("four exports run at once in a process", async () => {
  const { services } = fixture;
  const ids = await Promise.all(Array.from({ length: 5 }, () => addUser(services)));
  const running = await Promise.all(ids.slice(0, 4).map(open));
  await expect(open(ids[4] ?? "")).rejects.toMatchObject({ code: "rate_limited", message: /busy/ });
  for (const zip of running) zip.destroy();
  await Promise.all(ids.slice(0, 4).map(untilFree));
  await buffer(await open(ids[4] ?? ""));
});

const bigBytes = 300_000;

/** A row with an original that no buffer on the way can hold. */
async function addBigImage(ownerId: string): Promise<void> {
  const { services } = fixture;
  const id = newId();
  const storageKey = `users/${ownerId}/${id}`;
  await services.disk.put(`${storageKey}/original.png`, randomBytes(bigBytes));
  const facts = { widthPx: 1, heightPx: 1, sizeBytes: bigBytes, thumbhash: "", mime: "image/png" };
  await services.db
    .insert(schema.images)
    .values({ id, ownerId, role: "upload", storageKey, storedSha256: id, ...facts });
}

test("pictures are opened one after the other as the reader gets on, and none is kept", async () => {
  const { services } = fixture;
  const id = await addUser(services);
  for (let count = 0; count < 6; count += 1) await addBigImage(id);
  const opening = vi.spyOn(services.disk, "open");
  try {
    let readBytes = 0;
    const parts: Buffer[] = [];
    for await (const part of await open(id)) {
      readBytes += (part as Buffer).length;
      parts.push(part as Buffer);
      expect(opening.mock.calls.length).toBeLessThanOrEqual(Math.floor(readBytes / bigBytes) + 1);
    }
    expect(readZip(Buffer.concat(parts)).size).toBe(9);
    expect(opening).toHaveBeenCalledTimes(6);
  } finally {
    opening.mockRestore();
  }
});

test("a store that goes away breaks the zip off, so that nobody takes it for whole", async () => {
  const { services } = fixture;
  const id = await addUser(services);
  for (let count = 0; count < 3; count += 1) await addBigImage(id);
  const opening = vi.spyOn(services.disk, "open");
  const parts: Buffer[] = [];
  let readBytes = 0;
  const read = async () => {
    for await (const part of await open(id)) {
      parts.push(part as Buffer);
      readBytes += (part as Buffer).length;
      if (readBytes > bigBytes / 2) opening.mockRejectedValue(new AppError("storage_unavailable"));
    }
  };
  try {
    await expect(read()).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(readBytes).toBeGreaterThan(bigBytes);
  } finally {
    opening.mockRestore();
  }
  expect(() => readZip(Buffer.concat(parts))).toThrow("no directory");
  await untilFree(id);
});

test("an export ends within seconds when its user is suspended", async () => {
  const { services } = fixture;
  const id = await addUser(services);
  await addBigImage(id);
  vi.useFakeTimers({ toFake: ["setInterval"] });
  try {
    const zip = await open(id);
    await suspend(services, { userId: id, adminId: null });
    vi.advanceTimersByTime(5_000);
    await expect.poll(() => zip.destroyed).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test("S9 an export ends within seconds when the key or session that asked for it has ended", async () => {
  const id = await addUser(fixture.services);
  await addBigImage(id);
  let isKnown = true;
  vi.useFakeTimers({ toFake: ["setInterval"] });
  try {
    const input = { userId: id, signal, isAllowed: () => Promise.resolve(isKnown) };
    const zip = await openExport(fixture.services, input);
    isKnown = false;
    vi.advanceTimersByTime(5_000);
    await expect.poll(() => zip.destroyed, { timeout: 20_000 }).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test("a suspended user gets no export", async () => {
  const { services } = fixture;
  const id = await addUser(services);
  await addJob(services, { owner: { userId: id, isGuest: false, imageId: await addImage(services, id) } });
  await suspend(services, { userId: id, adminId: null });
  await expect(open(id)).rejects.toMatchObject({ code: "rate_limited" });
});

test("guests who hold exports leave half of the places of a process to accounts", async () => {
  const { services } = fixture;
  const held = [];
  for (let at = 0; at < sharesOf("export").guests; at += 1) {
    const id = await addGuest(services);
    await addBigImage(id);
    held.push(await openExport(services, { userId: id, isGuest: true, signal, isAllowed }));
  }
  const late = await addGuest(services);
  const refused = openExport(services, { userId: late, isGuest: true, signal, isAllowed });
  await expect(refused).rejects.toMatchObject({ code: "rate_limited" });
  const account = await addUser(services);
  await addBigImage(account);
  const own = await open(account);
  for (const zip of [...held, own]) zip.destroy();
  await untilFree(account);
});

test("a reader below the least rate loses its export, as one who reads all day does", () => {
  const { windowMs, minBytesPerSecond, totalMs } = exportBounds;
  /** Reads so many bytes each second; returns when the export ends, and why. */
  const readAt = (bytesPerSecond: number, everyMs = 1_000) => {
    const pace = watchPace(0);
    for (let nowMs = everyMs; nowMs <= totalMs + 2 * windowMs; nowMs += everyMs) {
      if (bytesPerSecond > 0) pace.note((bytesPerSecond * everyMs) / 1_000);
      const reason = pace.reasonToEnd(nowMs);
      if (reason !== null) return { nowMs, reason };
    }
    return null;
  };
  expect(readAt(1)).toEqual({ nowMs: windowMs, reason: "the export was read too slowly" });
  expect(readAt(minBytesPerSecond - 1)).toEqual({
    nowMs: windowMs,
    reason: "the export was read too slowly",
  });
  expect(readAt(minBytesPerSecond)).toEqual({ nowMs: totalMs + 1_000, reason: "the export took too long" });
  expect(readAt(10 * minBytesPerSecond, windowMs / 2)?.reason).toBe("the export took too long");
  expect(readAt(0)?.nowMs).toBe(windowMs);
});
