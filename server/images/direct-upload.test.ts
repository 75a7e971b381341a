import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { addUser, readSample } from "@atelier/testing/pictures";
import { startS3, type TestS3 } from "@atelier/testing/s3";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { listObjects, type SignedPut } from "../storage/index.ts";
import { beginUpload, expireUploads, finishUpload, giveUpUpload, openFile, receiveUpload } from "./index.ts";

const { directUploads } = schema;
const { signal } = new AbortController();
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

let s3: TestS3;
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.destroy());

async function incoming({ disk }: Services): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of listObjects(disk, "incoming")) keys.push(...page.map(({ key }) => key));
  return keys;
}

describe.each(["files", "bucket"] as const)("a direct upload into %s", (kind) => {
  let opened: TestServices;
  let services: Services;
  let ownerId: string;
  let photo: Buffer;

  beforeAll(async () => {
    opened = await createTestServices({ env: kind === "bucket" ? { ...s3.env } : {} });
    ({ services } = opened);
    photo = await readSample("rocket.jpg");
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    ownerId = await addUser(services);
  });

  const announce = (bytes: Buffer, change = {}) => ({
    name: "rocket.jpg",
    mime: "image/jpeg" as const,
    sizeBytes: bytes.length,
    sha256: sha256(bytes),
    role: "upload" as const,
    ...change,
  });

  async function begin(announced = announce(photo)): Promise<{ id: string; put: SignedPut | null }> {
    const begun = await beginUpload(services, { ownerId, announced });
    if ("known" in begun) throw new Error("it is there already");
    return begun;
  }

  /** Sends the bytes as a browser would; throws what the store or the studio answers. */
  async function send({ id, put }: { id: string; put: SignedPut | null }, bytes: Buffer): Promise<void> {
    if (!put) return receiveUpload(services, { ownerId, id, body: () => Readable.from([bytes]) });
    const answer = await fetch(put.url, { method: "PUT", headers: put.headers, body: new Uint8Array(bytes) });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  }

  test("A15 the file becomes a picture once, however often it is finished; the same bytes are not sent again", async () => {
    const begun = await begin();
    expect(begun.put === null).toBe(kind === "files");
    await expect(finishUpload(services, { ownerId, id: begun.id, signal })).rejects.toMatchObject({
      code: "conflict",
    });
    await send(begun, photo);
    const image = await finishUpload(services, { ownerId, id: begun.id, signal });
    expect(image).toMatchObject({ title: "rocket", role: "upload", created: true });
    expect(await finishUpload(services, { ownerId, id: begun.id, signal })).toMatchObject({ id: image.id });
    expect(await incoming(services)).toEqual([]);
    const again = await beginUpload(services, { ownerId, announced: announce(photo) });
    expect(again).toMatchObject({ known: { id: image.id } });
    const rows = await services.db.select().from(schema.images).where(eq(schema.images.ownerId, ownerId));
    expect(rows).toHaveLength(1);
  });

  test("A15 two calls that finish an upload at once get the same picture", async () => {
    const begun = await begin();
    await send(begun, photo);
    const finish = () => finishUpload(services, { ownerId, id: begun.id, signal });
    const images = await Promise.all([finish(), finish(), finish()]);
    expect(new Set(images.map(({ id }) => id)).size).toBe(1);
    expect(await incoming(services)).toEqual([]);
  });

  test("S1 another's upload is not found", async () => {
    const { id } = await begin();
    const stranger = { ownerId: await addUser(services), id };
    await expect(finishUpload(services, { ...stranger, signal })).rejects.toMatchObject({
      code: "not_found",
    });
    const receiving = receiveUpload(services, { ...stranger, body: () => Readable.from([photo]) });
    await expect(receiving).rejects.toMatchObject({ code: "not_found" });
  });

  test("S2 another file than the announced one is refused, be it longer, shorter or changed", async () => {
    const changed = Buffer.from(photo);
    changed.writeUInt8(changed.readUInt8(5_000) ^ 1, 5_000);
    for (const bytes of [Buffer.concat([photo, photo]), photo.subarray(1)])
      await expect(send(await begin(), bytes)).rejects.toThrow(/403|announced/);
    const begun = await begin();
    // A bucket compares the hash itself and answers 400; of a file the studio finds it when the upload is finished.
    const sendAndFinish = async () => {
      await send(begun, changed);
      await finishUpload(services, { ownerId, id: begun.id, signal });
    };
    await expect(sendAndFinish()).rejects.toThrow(
      kind === "bucket" ? /^400/ : /not the one that was announced/,
    );
    const left = await services.db.select().from(schema.images).where(eq(schema.images.ownerId, ownerId));
    expect(left).toEqual([]);
  });

  test("S2 a file whose store compares no hash is refused by the studio when it was changed, and not sent twice", async () => {
    const changed = Buffer.from(photo);
    changed.writeUInt8(changed.readUInt8(5_000) ^ 1, 5_000);
    const announced = announce(photo, { unchecked: true });
    const begun = await begin(announced);
    expect(Object.keys(begun.put?.headers ?? {})).not.toContain("x-amz-checksum-sha256");
    await send(begun, changed);
    await expect(finishUpload(services, { ownerId, id: begun.id, signal })).rejects.toThrow(
      /not the one that was announced/,
    );
    const second = await begin(announced);
    await send(second, photo);
    const { id } = await finishUpload(services, { ownerId, id: second.id, signal });
    expect(await beginUpload(services, { ownerId, announced })).toMatchObject({ known: { id } });
  });

  test("S2 what is no picture is refused and removed", async () => {
    const text = Buffer.from("This is a shopping list, not a picture.\n".repeat(10));
    const begun = await begin(announce(text));
    await send(begun, text);
    await expect(finishUpload(services, { ownerId, id: begun.id, signal })).rejects.toMatchObject({
      code: "upload_unsupported",
    });
    expect((await incoming(services)).filter((key) => key.includes(begun.id))).toEqual([]);
    await expect(finishUpload(services, { ownerId, id: begun.id, signal })).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test("S2 a file above the limit, and the 101st upload at once, are refused before a byte is sent", async () => {
    await expect(begin(announce(photo, { sizeBytes: 100_000_000 }))).rejects.toMatchObject({
      code: "upload_too_large",
    });
    await expect(begin(announce(photo, { sizeBytes: 0 }))).rejects.toMatchObject({
      code: "upload_unsupported",
      message: expect.stringContaining("The file is empty"),
    });
    for (let at = 0; at < 100; at += 1) await begin();
    await expect(begin()).rejects.toMatchObject({ code: "rate_limited" });
  });

  test("S2 of many uploads begun at once only those are taken that fit into the quota together", async () => {
    await services.db
      .update(schema.users)
      .set({ quotaBytes: 10 * photo.length })
      .where(eq(schema.users.id, ownerId));
    const begin = (at: number) =>
      beginUpload(services, { ownerId, announced: announce(photo, { sha256: sha256(Buffer.from([at])) }) });
    const all = await Promise.allSettled(Array.from({ length: 40 }, (_, at) => begin(at)));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  });

  test("S2 what is announced counts towards the quota, and after the end only a link that can be used again", async () => {
    const { limits } = services.config;
    const before = limits.bytesPerUser;
    const begun = await begin();
    await send(begun, photo);
    await finishUpload(services, { ownerId, id: begun.id, signal });
    const receiving = receiveUpload(services, { ownerId, id: begun.id, body: () => Readable.from([photo]) });
    await expect(receiving).rejects.toMatchObject({ code: "conflict" });
    const other = announce(await readSample("coffee.png"), { sizeBytes: 2 * photo.length });
    const outcome = () =>
      begin(other).then(
        () => "begun",
        (error: unknown) => error,
      );
    const refused = expect.objectContaining({ code: "storage_quota" });
    limits.bytesPerUser = 3.5 * photo.length;
    try {
      expect(await outcome()).toEqual(kind === "bucket" ? refused : "begun");
      expect(await outcome()).toEqual(refused);
    } finally {
      limits.bytesPerUser = before;
    }
  });

  test.for(kind === "bucket" ? [kind] : [])(
    "F29 a link that ended before the file was sent is refused by the %s; announced again, the file becomes one picture",
    async () => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 20 * 60_000 });
      const late = await begin().finally(() => vi.useRealTimers());
      await expect(send(late, photo)).rejects.toThrow(/^403/);
      await expect(finishUpload(services, { ownerId, id: late.id, signal })).rejects.toMatchObject({
        code: "conflict",
      });
      const again = await begin();
      await send(again, photo);
      const image = await finishUpload(services, { ownerId, id: again.id, signal });
      const { body } = await openFile(services, { ownerId, id: image.id, variant: "original" });
      expect(body && (await buffer(body)).length).toBeGreaterThan(1_000);
      const rows = await services.db.select().from(schema.images).where(eq(schema.images.ownerId, ownerId));
      expect(rows).toHaveLength(1);
    },
  );

  test("A15 an upload that is given up holds nothing, sent or not, and is unknown afterwards", async () => {
    await expect(giveUpUpload(services, { ownerId, id: newId() })).rejects.toMatchObject({
      code: "not_found",
    });
    for (const isSent of [false, true]) {
      const begun = await begin();
      if (isSent) await send(begun, photo);
      const other = { ownerId: await addUser(services), id: begun.id };
      await expect(giveUpUpload(services, other)).rejects.toMatchObject({ code: "not_found" });
      await giveUpUpload(services, { ownerId, id: begun.id });
      expect(await incoming(services)).toEqual([]);
      for (const again of [
        () => giveUpUpload(services, { ownerId, id: begun.id }),
        () => finishUpload(services, { ownerId, id: begun.id, signal }),
        () => receiveUpload(services, { ownerId, id: begun.id, body: () => Readable.from([photo]) }),
      ])
        await expect(again()).rejects.toMatchObject({ code: "not_found" });
    }
    const finished = await begin();
    await send(finished, photo);
    await finishUpload(services, { ownerId, id: finished.id, signal });
    await expect(giveUpUpload(services, { ownerId, id: finished.id })).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test("A15 of the uploads that hold places, those that are given up or should have been sent hold none", async () => {
    const begun = [];
    for (let at = 0; at < 100; at += 1) begun.push(await begin());
    await expect(begin()).rejects.toMatchObject({ code: "rate_limited" });
    await giveUpUpload(services, { ownerId, id: begun[0]?.id ?? "" });
    await begin();
    await expect(begin()).rejects.toMatchObject({ code: "rate_limited" });
    const minutes = sql`created_at - interval '16 minutes'`;
    await services.db
      .update(directUploads)
      .set({ createdAt: minutes })
      .where(eq(directUploads.ownerId, ownerId));
    const late = await begin();
    await send(late, photo);
    await finishUpload(services, { ownerId, id: late.id, signal });
  });

  test("A15 a file that arrives while its upload is given up is not kept", async () => {
    const begun = await begin();
    if (begun.put) return;
    const body = () =>
      Readable.from(
        (async function* () {
          yield photo.subarray(0, 1_000);
          await giveUpUpload(services, { ownerId, id: begun.id });
          yield photo.subarray(1_000);
        })(),
      );
    const received = receiveUpload(services, { ownerId, id: begun.id, body });
    await expect(received).rejects.toMatchObject({ code: "not_found" });
    expect(await incoming(services)).toEqual([]);
  });

  test("A15 what was begun and never finished goes after an hour, with its file", async () => {
    const begun = await begin();
    await send(begun, photo);
    await expireUploads(services);
    expect(await incoming(services)).toEqual([`incoming/${begun.id}/file`]);
    const old = sql`now() - interval '61 minutes'`;
    await services.db.update(directUploads).set({ createdAt: old }).where(eq(directUploads.ownerId, ownerId));
    await expireUploads(services);
    expect((await incoming(services)).filter((key) => key.includes(begun.id))).toEqual([]);
    await expect(finishUpload(services, { ownerId, id: begun.id, signal })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});
