import { addImage, addOwner, type TestOwner } from "@atelier/testing/jobs";
import { openBatchScene } from "@atelier/testing/scenes";
import { eq, sql } from "drizzle-orm";
import sharp from "sharp";
import { expect, test } from "vitest";
import { estimateBatch } from "../batches/index.ts";
import { schema } from "../db/index.ts";
import { ingest } from "../images/index.ts";
import { hasConsent, stateConsent, withdrawConsent } from "../wardrobe/index.ts";
import { estimate } from "./estimate.ts";
import { retry } from "./retry.ts";
import { submit } from "./submit.ts";

const scene = openBatchScene();
const { consents, jobs } = schema;

/** The same bytes for each owner. */
async function samePhoto({ userId: ownerId }: TestOwner): Promise<string> {
  const create = { width: 64, height: 96, channels: 3 as const, background: "#a0704f" };
  const bytes = await sharp({ create }).png().toBuffer();
  return (await ingest(scene.services, { ownerId, role: "upload", bytes })).id;
}

async function order(owner: TestOwner, person: string, params: object | undefined) {
  const garment = await addImage(scene.services, owner.userId);
  const request = { kind: "outfit_change", engine: "local", params, inputs: { person, garment } };
  return { request, send: () => submit(scene.services, request, { submitter: owner }) };
}

const forget = (owner: TestOwner) =>
  scene.services.db.delete(consents).where(eq(consents.ownerId, owner.userId));
const countOf = (owner: TestOwner) => scene.services.db.$count(consents, eq(consents.ownerId, owner.userId));

test.each([[undefined], [{}], [{ category: "top" }]])(
  "C1 S3 a photo without a statement is refused with the params %j, and one with it is not",
  async (params) => {
    const { owner, services } = scene;
    const person = await samePhoto(owner);
    await forget(owner);
    const { request, send } = await order(owner, person, params);
    await expect(send()).rejects.toMatchObject({ code: "consent_required" });
    expect(await services.db.$count(jobs, eq(jobs.ownerId, owner.userId))).toBe(0);
    // An estimate is no order.
    expect(await estimate(services, request, owner)).toMatchObject({ isPossible: true });
    await stateConsent(services, { ownerId: owner.userId, imageId: person });
    expect(await send()).toMatchObject({ id: expect.any(String) });
    // The same bytes once more are the same photo.
    const again = await order(owner, await samePhoto(owner), params);
    expect(await again.send()).toMatchObject({ id: expect.any(String) });
    const other = await order(owner, await addImage(services, owner.userId), params);
    await expect(other.send()).rejects.toMatchObject({ code: "consent_required" });
  },
);

test("C1 S3 what an order states is stored for the next one, and another user's identical photo does not inherit it", async () => {
  const { owner, services } = scene;
  const person = await samePhoto(owner);
  await forget(owner);
  await (await order(owner, person, { consent: true })).send();
  expect(await countOf(owner)).toBe(1);
  const entries = () =>
    services.db
      .select({ kind: schema.auditEntries.kind, actorId: schema.auditEntries.actorId })
      .from(schema.auditEntries)
      .where(eq(schema.auditEntries.objectId, person));
  expect(await entries()).toEqual([{ kind: "consent.stated", actorId: owner.userId }]);
  await (await order(owner, person, { consent: true })).send();
  expect(await entries()).toHaveLength(1);
  await (await order(owner, person, {})).send();
  const stranger = await addOwner(services);
  const theirs = await samePhoto(stranger);
  const [mine, other] = await Promise.all(
    [person, theirs].map(async (id) => {
      const [row] = await services.db.select().from(schema.images).where(eq(schema.images.id, id));
      return row?.storedSha256;
    }),
  );
  expect(other).toBe(mine);
  expect(await hasConsent(services, { ownerId: stranger.userId, imageId: theirs })).toBe(false);
  await expect((await order(stranger, theirs, {})).send()).rejects.toMatchObject({
    code: "consent_required",
  });
  expect(await countOf(stranger)).toBe(0);
});

test("C1 S3 a statement that is gone counts no more, is not written anew, and a denial beats a stored one", async () => {
  const { owner, services } = scene;
  const person = await samePhoto(owner);
  await stateConsent(services, { ownerId: owner.userId, imageId: person });
  const denied = await order(owner, person, { consent: false });
  await expect(denied.send()).rejects.toMatchObject({ code: "consent_required" });
  const { send } = await order(owner, person, {});
  const { id } = await send();
  await services.db
    .update(jobs)
    .set({ status: "failed", errorCode: "internal", endedAt: new Date() })
    .where(eq(jobs.id, id));
  await forget(owner);
  await expect(send()).rejects.toMatchObject({ code: "consent_required" });
  await expect(retry(services, { id, submitter: owner })).rejects.toMatchObject({ code: "consent_required" });
  expect(await countOf(owner)).toBe(0);
});

test.each(["params", "unused"] as const)(
  "C1 S3 a retry states nothing anew that its job stated and its owner withdrew: among the %s",
  async (place) => {
    const { owner, services } = scene;
    const person = await samePhoto(owner);
    await forget(owner);
    const { id } = await (await order(owner, person, { consent: true, category: "top" })).send();
    const left = sql`jsonb_set(placement, '{asked}', placement -> 'asked' || '{"unused": {"consent": true}}')`;
    const moved = { params: sql`params - 'consent'`, placement: left };
    await services.db
      .update(jobs)
      .set({
        status: "failed",
        errorCode: "internal",
        endedAt: new Date(),
        ...(place === "unused" ? moved : {}),
      })
      .where(eq(jobs.id, id));
    await withdrawConsent(services, { ownerId: owner.userId, imageId: person });
    const again = () => retry(services, { id, submitter: owner });
    await expect(again()).rejects.toMatchObject({ code: "consent_required" });
    expect(await countOf(owner)).toBe(0);
    await stateConsent(services, { ownerId: owner.userId, imageId: person });
    const { id: next } = await again();
    const [job] = await services.db.select().from(jobs).where(eq(jobs.id, next));
    expect(job?.params).toMatchObject({ category: "top" });
  },
);

test("C1 S3 a statement that is withdrawn is asked for again, for each picture of the same bytes", async () => {
  const { owner, services } = scene;
  const [person, same] = [await samePhoto(owner), await samePhoto(owner)];
  const photo = { ownerId: owner.userId, imageId: person };
  await stateConsent(services, photo);
  await withdrawConsent(services, { ...photo, imageId: same });
  expect(await hasConsent(services, photo)).toBe(false);
  const { send, request } = await order(owner, person, {});
  await expect(send()).rejects.toMatchObject({ code: "consent_required" });
  const batch = { jobs: [request] };
  const options = { submitter: owner, signal: AbortSignal.timeout(20_000) };
  expect(await estimateBatch(services, batch, options)).toMatchObject({ refused: [] });
  await withdrawConsent(services, photo);
  const stranger = await addOwner(services);
  await expect(withdrawConsent(services, { ...photo, ownerId: stranger.userId })).rejects.toMatchObject({
    code: "not_found",
  });
  await stateConsent(services, photo);
  expect(await send()).toMatchObject({ id: expect.any(String) });
});
