import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import {
  addEndpoint,
  countUndelivered,
  oweCompleted,
  readDelivery,
  startWebhookReceiver,
  type WebhookReceiver,
} from "@atelier/testing/deliveries";
import { addOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import type { Services } from "@atelier/server/services";
import { startDeliveries } from "./deliveries.ts";

let opened: TestServices;
let services: Services;
let receiver: WebhookReceiver;
beforeAll(async () => {
  opened = await createTestServices({ env: { ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
  ({ services } = opened);
  receiver = await startWebhookReceiver();
});
afterAll(async () => {
  await receiver.close();
  await opened.close();
});

async function openOwner(path: string) {
  const owner = await addOwner(services);
  await addEndpoint(services, owner, `${receiver.url}${path}`);
  return owner;
}

function start(from: Services) {
  const running = startDeliveries(from);
  onTestFinished(() => running.stop());
  return running;
}

const undelivered = (ownerId: string) => countUndelivered(services, ownerId);
const until = (isReached: () => Promise<boolean> | boolean) => vi.waitUntil(isReached, { timeout: 20_000 });

test("C3 two workers deliver each webhook once, what ended elsewhere is found by the poll", async () => {
  const owner = await openOwner("/both");
  const ids = await Promise.all(Array.from({ length: 10 }, () => oweCompleted(services, owner)));
  start(await opened.openAnother());
  start(await opened.openAnother());
  await until(async () => (await undelivered(owner.userId)) === 0);
  const rows = await Promise.all(ids.map((id) => readDelivery(services, id)));
  expect(rows.map(({ id }) => receiver.countOf(id))).toEqual(ids.map(() => 1));
});

test("C1 a receiver that hangs delays no other one, not even one of the same owner", async () => {
  const slow = await openOwner("/slow");
  await addEndpoint(services, slow, `${receiver.url}/quick-of-the-same`);
  const quick = await openOwner("/quick");
  receiver.inject("/slow", [{ kind: "hold" }], { isForever: true });
  await Promise.all(Array.from({ length: 8 }, () => oweCompleted(services, slow)));
  const since = performance.now();
  start(services);
  const quickId = await oweCompleted(services, quick);
  await until(async () => (await readDelivery(services, quickId)).deliveredAt !== null);
  const ofSame = () => receiver.received.filter(({ path }) => path === "/quick-of-the-same").length;
  await until(() => ofSame() === 8);
  // Two at a time, of which each is given up after 20 s.
  const most = 2 * (1 + Math.floor((performance.now() - since) / 20_000));
  expect(receiver.received.filter(({ path }) => path === "/slow").length).toBeLessThanOrEqual(most);
  receiver.inject("/slow", []);
  receiver.release();
  await until(async () => (await undelivered(slow.userId)) === 0);
});

test("C5 a process that stops still delivers for the jobs that it has ended", async () => {
  const owner = await openOwner("/stopping");
  const another = await opened.openAnother();
  const running = startDeliveries(another);
  const jobId = await oweCompleted(another, owner);
  await running.stop();
  expect((await readDelivery(services, jobId)).deliveredAt).not.toBeNull();
});
