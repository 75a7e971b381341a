import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { schema } from "@atelier/server/db";
import { realTimeMs, inAll } from "../cases/index.ts";
import { addEndpoint, oweCompleted, readDelivery, startWebhookReceiver } from "../deliveries/index.ts";
import { eventually, openScene, type Scene } from "./scene.ts";

type OnFinished = Parameters<typeof openScene>[0];

/** A scene with a receiver of webhooks. */
async function open(onFinished: OnFinished) {
  const receiver = await startWebhookReceiver();
  onFinished(() => receiver.close());
  const scene = await openScene(onFinished, { env: { ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
  await addEndpoint(scene.services, scene.owner, `${receiver.url}/hook`);
  return { scene, receiver };
}

/** Lets the time pass after which the locks of a killed worker may be taken over. */
const ageLocks = ({ services }: Scene) =>
  services.db.execute(sql`update deliveries set delivering_at = delivering_at - interval '1 hour'`);

const untilDelivered = ({ services }: Scene, jobId: string) =>
  eventually(async () => (await readDelivery(services, jobId)).deliveredAt !== null, true);

test.concurrent(
  "F8 C4 a worker killed before the send: another one takes the lock over and sends once",
  { ...inAll, timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const { scene, receiver } = await open(onTestFinished);
    const { db } = scene.services;
    const jobId = await oweCompleted(scene.services, scene.owner);
    // The holder of the lock has to read the job's results before it can send, and waits for this transaction.
    await db.transaction(async (tx) => {
      // A worker starts in more than a session's limit when the machine is busy.
      await tx.execute(sql`set local idle_in_transaction_session_timeout = 0`);
      await tx.execute(sql`lock table ${schema.jobOutputs} in access exclusive mode`);
      const doomed = await scene.startWorker({ name: "doomed" });
      await doomed.waitFor(/POLL_LOCK_WIN/);
      await doomed.kill9();
    });
    const { id, deliveringAt } = await readDelivery(scene.services, jobId);
    expect(deliveringAt).not.toBeNull();
    await ageLocks(scene);
    expect(receiver.countOf(id)).toBe(0);
    await scene.startWorker({ name: "other" });
    await untilDelivered(scene, jobId);
    expect(receiver.countOf(id)).toBe(1);
    expect((await readDelivery(scene.services, jobId)).attempts).toBe(2);
  },
);

test.concurrent(
  "F8 C4 a worker killed between the send and the record: the message comes again, with the same id",
  { timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const { scene, receiver } = await open(onTestFinished);
    const jobId = await oweCompleted(scene.services, scene.owner);
    receiver.inject("/hook", [{ kind: "hold" }]);
    const doomed = await scene.startWorker({ name: "doomed" });
    const { id } = await readDelivery(scene.services, jobId);
    await eventually(() => receiver.countOf(id), 1);
    await doomed.kill9();
    await ageLocks(scene);
    await scene.startWorker({ name: "other" });
    await untilDelivered(scene, jobId);
    expect(receiver.countOf(id)).toBe(2);
  },
);

test.concurrent(
  "F8 C3 a worker killed after the record: nothing is sent again",
  { ...inAll, timeout: realTimeMs },
  async ({ onTestFinished }) => {
    const { scene, receiver } = await open(onTestFinished);
    const jobId = await oweCompleted(scene.services, scene.owner);
    const doomed = await scene.startWorker({ name: "doomed" });
    await doomed.waitFor(/MARK_DELIVERED/);
    await doomed.kill9();
    await ageLocks(scene);
    await scene.startWorker({ name: "other" });
    const { id } = await readDelivery(scene.services, jobId);
    const later = await oweCompleted(scene.services, scene.owner);
    await untilDelivered(scene, later);
    expect(receiver.countOf(id)).toBe(1);
  },
);
