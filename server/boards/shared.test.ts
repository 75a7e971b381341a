import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { addUser } from "@atelier/testing/pictures";
import {
  openAccount,
  openOwner,
  type TestOwner,
  createTestServices,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { resolveCaller } from "../accounts/index.ts";
import { schema } from "../db/index.ts";
import { changeImage, getImage, ingest, openFile, removeImages } from "../images/index.ts";
import { newId } from "../platform/index.ts";
import {
  addToBoard,
  copyFromBoard,
  createBoard,
  getBoard,
  getSharedBoard,
  leaveBoard,
  listBoardMembers,
  listSharedBoards,
  listSharedPictures,
  openSharedPicture,
  removeBoard,
  restoreBoard,
  shareBoard,
  takeFromBoard,
  unshareBoard,
} from "./index.ts";

let opened: TestServices;
let owner: TestOwner;
let member: { readonly userId: string; readonly email: string };
let ownerId: string;
let count = 0;

beforeAll(async () => {
  opened = await createTestServices({ config: { retention: { undoDeleteMs: 60_000 } } });
});
beforeEach(async () => {
  count += 1;
  owner = await openOwner(opened.services, `owner-${count}@example.com`);
  ownerId = owner.caller.userId;
  const email = `member-${count}@example.com`;
  const { headers } = await openAccount(opened.services, email);
  member = { email, userId: (await resolveCaller(opened.services, headers))?.userId ?? "" };
});
afterAll(() => opened.close());

async function addPicture(owner: string): Promise<string> {
  const id = newId();
  const facts = { mime: "image/png", widthPx: 1, heightPx: 1, sizeBytes: 1, thumbhash: "", storedSha256: id };
  await opened.services.db
    .insert(schema.images)
    .values({ ...facts, id, ownerId: owner, role: "upload", storageKey: id });
  return id;
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

async function shared(right: "see" | "add") {
  const board = await createBoard(opened.services, { ownerId, name: "Autumn", imageIds: [owner.imageId] });
  await shareBoard(opened.services, { ownerId, id: board.id, email: member.email.toUpperCase(), right });
  return { id: board.id, userId: member.userId };
}
const pictures = async (address: { id: string; userId: string }, limit = 60) =>
  (await listSharedPictures(opened.services, { ...address, limit })).items;
const file = (address: { id: string; userId: string }, imageId = owner.imageId, isHead = true) =>
  openSharedPicture(opened.services, { ...address, imageId, variant: "original", isHead });

test("a member copies a picture into the own gallery, once, and keeps it when the sharing ends; others do not", async () => {
  const { services } = opened;
  const address = await shared("see");
  const said = { title: "Harbour", description: "Anna and Ben\nin the fog" };
  await changeImage(services, { ownerId, id: owner.imageId, ...said });
  const copy = await copyFromBoard(services, { ...address, imageId: owner.imageId });
  expect(copy.created).toBe(true);
  expect(await getImage(services, { ownerId: member.userId, id: copy.id })).toMatchObject({
    title: said.title,
    // Its owner's words were never shown on the board.
    description: "",
  });
  expect(await copyFromBoard(services, { ...address, imageId: owner.imageId })).toEqual({
    ...copy,
    created: false,
  });
  expect(await copyFromBoard(services, { id: address.id, userId: ownerId, imageId: owner.imageId })).toEqual({
    id: owner.imageId,
    created: false,
  });
  await unshareBoard(services, { ownerId, id: address.id, userId: member.userId });
  await removeImages(services, { ownerId, ids: [owner.imageId] });
  for (const variant of ["original", "preview", "thumbnail"] as const) {
    const { body } = await openFile(services, { ownerId: member.userId, id: copy.id, variant });
    expect((await buffer(body ?? Readable.from([]))).length).toBeGreaterThan(0);
  }
  const again = { ...address, imageId: owner.imageId };
  await expect(copyFromBoard(services, again)).rejects.toMatchObject({ code: "not_found" });
  await expect(copyFromBoard(services, { ...again, userId: await addUser(services) })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a copy of what AI made is marked as such, and so is a copy of the copy", async () => {
  const { services } = opened;
  const made = { role: "result", jobId: newId() } as const;
  await services.db.update(schema.images).set(made).where(eq(schema.images.id, owner.imageId));
  const address = await shared("add");
  expect(await pictures(address)).toMatchObject([{ isAi: true }]);
  const { id } = await copyFromBoard(services, { ...address, imageId: owner.imageId });
  expect(await getImage(services, { ownerId: member.userId, id })).toMatchObject({
    role: "upload",
    isAi: true,
  });

  await takeFromBoard(services, { userId: ownerId, id: address.id, imageIds: [owner.imageId] });
  await addToBoard(services, { ...address, imageIds: [id] });
  expect(await pictures(address)).toMatchObject([{ id, isAi: true }]);
  const third = await openOwner(services, `third-${count}@example.com`);
  await shareBoard(services, { ownerId, id: address.id, email: `third-${count}@example.com`, right: "see" });
  const copy = await copyFromBoard(services, { ...address, userId: third.caller.userId, imageId: id });
  expect((await getImage(services, { ownerId: third.caller.userId, id: copy.id })).isAi).toBe(true);
});

test("bytes that were uploaded by hand are marked when they are copied from what AI made", async () => {
  const { services } = opened;
  const address = await shared("see");
  const { body } = await file(address, owner.imageId, false);
  const bytes = await buffer(body ?? Readable.from([]));
  const byHand = await ingest(services, { ownerId: member.userId, role: "upload", bytes });
  const made = { role: "result", jobId: newId(), storedSha256: sha256(bytes) } as const;
  await services.db.update(schema.images).set(made).where(eq(schema.images.id, owner.imageId));
  const read = () => getImage(services, { ownerId: member.userId, id: byHand.id });
  expect((await read()).isAi).toBe(false);
  const copy = await copyFromBoard(services, { ...address, imageId: owner.imageId });
  expect(copy).toEqual({ id: byHand.id, created: false });
  expect((await read()).isAi).toBe(true);
});

test("S1 a member sees the board with its pictures and their files, and changes nothing without the right to add", async () => {
  const address = await shared("see");
  expect(await listSharedBoards(opened.services, { userId: member.userId })).toMatchObject([
    { id: address.id, name: "Autumn", right: "see", pictures: 1, coverIds: [owner.imageId] },
  ]);
  expect(await getSharedBoard(opened.services, { id: address.id, userId: ownerId })).toMatchObject({
    right: "own",
  });
  expect(await pictures(address)).toMatchObject([{ id: owner.imageId, isOwn: false }]);
  expect((await file(address)).headers["content-type"]).toBe("image/png");
  const imageIds = [await addPicture(member.userId)];
  await expect(addToBoard(opened.services, { ...address, imageIds })).rejects.toMatchObject({
    code: "not_found",
  });
  expect(await takeFromBoard(opened.services, { ...address, imageIds: [owner.imageId] })).toEqual([]);
  for (const refused of [
    () => getBoard(opened.services, { id: address.id, ownerId: member.userId }),
    () => removeBoard(opened.services, { id: address.id, ownerId: member.userId }),
    () => listBoardMembers(opened.services, { id: address.id, ownerId: member.userId }),
    () =>
      shareBoard(opened.services, {
        id: address.id,
        ownerId: member.userId,
        email: member.email,
        right: "add",
      }),
  ])
    await expect(refused()).rejects.toMatchObject({ code: "not_found" });
});

test("S1 strangers, members that were removed or left, and all while the owner is suspended, see neither board nor file", async () => {
  const address = await shared("see");
  const stranger = { id: address.id, userId: await addUser(opened.services) };
  const expectUnseen = async (who: typeof address) => {
    expect(await listSharedBoards(opened.services, { userId: who.userId })).toEqual([]);
    for (const refused of [() => pictures(who), () => file(who), () => getSharedBoard(opened.services, who)])
      await expect(refused()).rejects.toMatchObject({ code: "not_found" });
  };
  await expectUnseen(stranger);
  const ban = (banned: boolean) =>
    opened.services.db.update(schema.users).set({ banned }).where(eq(schema.users.id, ownerId));
  await ban(true);
  await expectUnseen(address);
  await ban(false);
  expect(await pictures(address)).toHaveLength(1);
  await removeBoard(opened.services, { ownerId, id: address.id });
  await expectUnseen(address);
  await restoreBoard(opened.services, { ownerId, id: address.id });
  expect(await pictures(address)).toHaveLength(1);
  expect(await unshareBoard(opened.services, { ownerId, ...address })).toEqual([]);
  await expectUnseen(address);
  await shareBoard(opened.services, { ownerId, id: address.id, email: member.email, right: "see" });
  await leaveBoard(opened.services, address);
  await expectUnseen(address);
});

test("S1 a file of a shared board is only one of its pictures, and none that was deleted", async () => {
  const address = await shared("see");
  await expect(file(address, await addPicture(ownerId))).rejects.toMatchObject({ code: "not_found" });
  await removeImages(opened.services, { ownerId, ids: [owner.imageId] });
  await expect(file(address)).rejects.toMatchObject({ code: "not_found" });
  expect(await pictures(address)).toEqual([]);
});

test("members with the right to add put own pictures there, which all see, page by page, and which go with them", async () => {
  const address = await shared("add");
  const foreign = await addPicture(await addUser(opened.services));
  const added = [await addPicture(member.userId), await addPicture(member.userId)];
  expect(await addToBoard(opened.services, { ...address, imageIds: [...added, foreign] })).toHaveLength(2);
  const asOwner = { id: address.id, userId: ownerId };
  // All at one moment, as one click adds them, with the microseconds of the database.
  await opened.services.db.execute("update board_images set added_at = '2026-01-02T03:04:05.678901Z'");
  const first = await listSharedPictures(opened.services, { ...asOwner, limit: 2 });
  const rest = await listSharedPictures(opened.services, {
    ...asOwner,
    limit: 2,
    cursor: first.nextCursor ?? "",
  });
  expect([...first.items, ...rest.items].map(({ id }) => id).toSorted()).toEqual(
    [...added, owner.imageId].toSorted(),
  );
  expect(rest.nextCursor).toBeNull();
  expect(await getBoard(opened.services, { ownerId, id: address.id })).toMatchObject({
    pictures: 1,
    members: 1,
  });
  const [asked] = await listSharedBoards(opened.services, { userId: member.userId, imageIds: added });
  expect(asked).toMatchObject({ held: 2, pictures: 3 });
  expect(await takeFromBoard(opened.services, { ...asOwner, imageIds: added.slice(1) })).toEqual(
    added.slice(1),
  );
  expect(await takeFromBoard(opened.services, { ...address, imageIds: [...added, owner.imageId] })).toEqual(
    added.slice(0, 1),
  );
  await addToBoard(opened.services, { ...address, imageIds: added });
  await unshareBoard(opened.services, { ownerId, ...address });
  expect((await pictures(asOwner)).map(({ id }) => id)).toEqual([owner.imageId]);
});

test("a board is shared with an account of this studio only, once, and a saved search with nobody", async () => {
  const { id } = await createBoard(opened.services, { ownerId, name: "Winter" });
  const share = (email: string, right: "see" | "add" = "see") =>
    shareBoard(opened.services, { ownerId, id, email, right });
  await expect(share("nobody@example.com")).rejects.toMatchObject({ code: "account_unknown" });
  await expect(share(`owner-${count}@example.com`)).rejects.toMatchObject({ code: "bad_request" });
  const guest = await addUser(opened.services);
  const [row] = await opened.services.db
    .update(schema.users)
    .set({ isAnonymous: true })
    .where(eq(schema.users.id, guest))
    .returning({ email: schema.users.email });
  await expect(share(row?.email ?? "")).rejects.toMatchObject({ code: "account_unknown" });
  await share(member.email);
  expect(await share(member.email, "add")).toMatchObject([{ email: member.email, right: "add" }]);
  const search = await createBoard(opened.services, { ownerId, name: "Cups", search: "cup" });
  await expect(
    shareBoard(opened.services, { ownerId, id: search.id, email: member.email, right: "see" }),
  ).rejects.toMatchObject({ code: "bad_request" });
});
