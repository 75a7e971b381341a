import { beforeEach, expect, test } from "vitest";
import { addNode, addOwner, insertJob, localOffers, testQueue } from "@atelier/testing/jobs";
import { openJobScene } from "@atelier/testing/scenes";
import { cancel } from "./cancel.ts";
import { claim } from "./claimed.ts";
import { dispatch } from "./dispatch.ts";
import { moveInLine } from "./reorder.ts";
import { readWaiting } from "./estimate.ts";

const scene = openJobScene({ isEmptied: true });
let ids: string[];

beforeEach(async () => {
  ids = [];
  for (let count = 0; count < 4; count += 1)
    ids.push(await insertJob(scene.services, { owner: scene.owner }));
});

const move = (from: number, before: number | null) =>
  moveInLine(scene.services, {
    ownerId: scene.owner.userId,
    id: ids[from] ?? "",
    before: before === null ? null : (ids[before] ?? ""),
  });
const order = async () =>
  (await readWaiting(scene.services, scene.owner.userId)).items.map(({ id }) => ids.indexOf(id));

test("D5 an owner moves a waiting job to the front, between two others and to the end", async () => {
  await move(3, 0);
  expect(await order()).toEqual([3, 0, 1, 2]);
  await move(0, 2);
  expect(await order()).toEqual([3, 1, 0, 2]);
  await move(3, null);
  expect(await order()).toEqual([1, 0, 2, 3]);
});

test("D5 jobs are served in the order that their owner gave them", async () => {
  const { services } = scene;
  const nodeId = await addNode(services);
  await move(2, 0);
  await dispatch(services, testQueue);
  expect(await claim(services, { nodeId, queue: testQueue, offers: localOffers })).toMatchObject({
    id: ids[2],
  });
  await dispatch(services, testQueue);
  expect(await claim(services, { nodeId, queue: testQueue, offers: localOffers })).toMatchObject({
    id: ids[0],
  });
});

test("D5 a job can be moved between the same two again and again", async () => {
  for (let count = 0; count < 60; count += 1) {
    const [moved, next] = count % 2 === 0 ? [2, 1] : [1, 2];
    // Each time the last of the three goes between the first and the one that was put there before.
    await move(moved, next);
    expect(await order()).toEqual([0, moved, next, 3]);
  }
});

test("moving at the same moment loses no job and no order", async () => {
  await Promise.all([move(3, 0), move(2, 0), move(1, 0)]);
  expect((await order()).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
});

test("another's job, one that has left the line and one of another line are refused", async () => {
  const { services } = scene;
  const stranger = await addOwner(services);
  const [id = "", other = ""] = ids;
  const foreign = { ownerId: stranger.userId, id, before: null };
  await expect(moveInLine(services, foreign)).rejects.toMatchObject({ code: "not_found" });
  await cancel(services, { ownerId: scene.owner.userId, id });
  await expect(move(0, null)).rejects.toMatchObject({ code: "conflict" });
  const gone = { ownerId: scene.owner.userId, id: other, before: id };
  await expect(moveInLine(services, gone)).rejects.toMatchObject({ code: "conflict" });
});

test("D8 of a longer line the first are shown, and how many there are", async () => {
  for (let count = 4; count < 32; count += 1)
    ids.push(await insertJob(scene.services, { owner: scene.owner }));
  const { items, total } = await readWaiting(scene.services, scene.owner.userId);
  expect([items.length, total]).toEqual([30, 32]);
});
