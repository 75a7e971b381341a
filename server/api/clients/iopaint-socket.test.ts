import { addImage, addJob, addNode, localOffers, testQueue } from "@atelier/testing/jobs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { eq } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import { cancel, claim, confirmCancel, start } from "../../jobs/index.ts";
import { places, takePlace } from "../../platform/index.ts";
import { type ClientScene, openClientScene } from "./fixtures/scene.ts";

let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene();
});
afterAll(() => scene.close());

const address = "/iopaint/socket.io?EIO=4&transport=polling";
const poll = (sid: string, key = scene.owner.key) => scene.send(`${address}&sid=${sid}`, { key });
const say = (sid: string, body: string, key = scene.owner.key) =>
  scene.send(`${address}&sid=${sid}`, {
    method: "POST",
    key,
    body,
    headers: { "content-length": String(body.length) },
  });

async function open(key = scene.owner.key): Promise<string> {
  const text = await (await scene.send(address, { key })).text();
  expect(text).toMatch(/^0\{/);
  const { sid, upgrades, pingInterval } = JSON.parse(text.slice(1));
  expect([upgrades, pingInterval]).toEqual([[], 25_000]);
  return sid;
}

test("D2 the page connects by polls and hears how far its picture is, and that it has ended", async () => {
  const { services, owner } = scene;
  const sid = await open();
  expect(await (await say(sid, "40")).text()).toBe("ok");
  expect(await (await poll(sid)).text()).toMatch(/^40\{"sid":"[\w-]+"\}$/);
  const imageId = await addImage(services, owner.id);
  const jobId = await addJob(services, { owner: { userId: owner.id, isGuest: false, imageId } });
  await services.db
    .update(schema.jobs)
    .set({ kind: "inpaint", params: { prompt: "a cup", steps: 20 } })
    .where(eq(schema.jobs.id, jobId));
  const nodeId = await addNode(services);
  await claim(services, { nodeId, queue: testQueue, offers: localOffers });
  await start(services, { jobId, attempt: 1, nodeId });
  const heard: string[] = [];
  let hasLeft = false;
  const listen = async () => {
    while (!hasLeft) {
      const answer = await poll(sid);
      if (answer.status === 200) heard.push(...(await answer.text()).split("\u001E"));
      else hasLeft = true;
    }
  };
  const listening = listen();
  await vi.waitUntil(
    () => {
      services.hints.publish({ type: "progress", progress: { jobId, attempt: 1, progress: 0.5, stage: "" } });
      return heard.includes('42["diffusion_progress",{"step":9}]');
    },
    { timeout: 10_000, interval: 50 },
  );
  await cancel(services, { ownerId: owner.id, id: jobId });
  await confirmCancel(services, { jobId, attempt: 1, nodeId });
  await vi.waitUntil(() => heard.includes('42["diffusion_finish"]'), { timeout: 10_000 });
  await say(sid, "1");
  await listening;
  expect((await poll(sid)).status).toBe(400);
});

test("D2 a session is its owner's alone; other transports and a second poll at once are refused", async () => {
  const sid = await open();
  const unknown = { code: 1, message: "Session ID unknown" };
  const foreign = await poll(sid, scene.stranger.key);
  expect([foreign.status, await foreign.json()]).toEqual([400, unknown]);
  expect((await say(sid, "40", scene.stranger.key)).status).toBe(400);
  expect(await (await poll("none")).json()).toEqual(unknown);
  const other = await scene.send(address.replace("polling", "websocket"));
  expect([other.status, await other.json()]).toMatchObject([400, { code: 0 }]);
  const first = poll(sid);
  await vi.waitUntil(async () => (await poll(sid)).status === 400, { timeout: 5_000 });
  await first;
  expect(await (await poll(sid)).json()).toEqual(unknown);
  // The ninth of a user ends the first.
  const sids = [];
  for (let at = 0; at < 9; at += 1) sids.push(await open());
  expect((await say(sids[0] ?? "", "3")).status).toBe(400);
  expect((await say(sids[8] ?? "", "3")).status).toBe(200);
});

test("D2 a page connects once however often it asks, and a session holds a place until it ends", async () => {
  const { id: userId, key } = scene.stranger;
  const sid = await open(key);
  expect((await say(sid, Array(2_000).fill("40").join("\u001E"), key)).status).toBe(200);
  expect((await (await poll(sid, key)).text()).split("\u001E")).toHaveLength(1);
  const holder = { userId };
  const taken: (() => void)[] = [];
  const takeAll = () => {
    for (;;) taken.push(takePlace(scene.services, "stream", holder));
  };
  expect(takeAll).toThrow(places.stream.message);
  expect(taken).toHaveLength(places.stream.perUser - 1);
  expect((await scene.send(address, { key })).status).toBe(429);
  await say(sid, "1", key);
  taken.push(takePlace(scene.services, "stream", holder));
  for (const giveBack of taken) giveBack();
});
