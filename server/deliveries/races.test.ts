import { inArray, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect } from "vitest";
import { forCasesInTurn } from "@atelier/testing/cases";
import { schema } from "@atelier/server/db";
import { addOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Channel, DeliveryError } from "./channel.ts";
import { deliver, type DeliverAnswer, type Via } from "./deliver.ts";
import { acquire } from "./ledger.ts";

const { deliveries } = schema;
const atOnce = 25;
const never = new AbortController().signal;

let opened: TestServices;
let instances: readonly Services[];
beforeAll(async () => {
  opened = await createTestServices();
  instances = [opened.services, await opened.openAnother()];
});
afterAll(() => opened.close());

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Crash = "none" | "before the send" | "after the send";

interface Race {
  readonly seed: number;
  readonly crash: Crash;
  /** Answer of a process that tries while the lock of a dead one is young. */
  readonly beside: DeliverAnswer | null;
  readonly sends: number;
  readonly answers: readonly DeliverAnswer[];
  readonly late: DeliverAnswer;
}

/** Lets the lock be as old, or the next attempt as near, as only time would make it. */
async function pass(id: string): Promise<void> {
  await opened.services.db.execute(sql`
    update ${deliveries} set next_attempt_at = clock_timestamp(),
      delivering_at = delivering_at - interval '301 seconds' where id = ${id}`);
}

/**
 * One delivery: a process may die with it at first, sends may fail, and callbacks, repeated callbacks and polls of two
 * instances try at the same moment, again after the lock's age and after each failure.
 */
async function runRace(id: string, seed: number): Promise<Race> {
  const random = seeded(seed);
  const crash = (["none", "before the send", "after the send"] as const)[Math.floor(random() * 3)] ?? "none";
  let failures = Math.floor(random() * 3);
  let sends = 0;
  const send: Channel["send"] = async () => {
    if (random() < 0.5) await new Promise((resolve) => setImmediate(resolve));
    if (failures > 0) {
      failures -= 1;
      throw new DeliveryError("retry", "Not now.");
    }
    sends += 1;
    return { externalId: String(sends) };
  };
  const channels: Channel[] = [{ name: "webhook", send }];
  const attempt = (via: Via) => {
    const services = instances[Math.floor(random() * instances.length)] ?? opened.services;
    return deliver(services, { id, via, channels, signal: never });
  };
  let beside: DeliverAnswer | null = null;
  if (crash !== "none") {
    await acquire(opened.services, id);
    if (crash === "after the send") sends += 1;
    beside = await attempt("poll");
    await pass(id);
  }
  const answers: DeliverAnswer[] = [];
  for (let round = 0; round < 3; round += 1) {
    const racers = Array.from({ length: 2 + Math.floor(random() * 4) }, () =>
      attempt(random() < 0.5 ? "callback" : "poll"),
    );
    answers.push(...(await Promise.all(racers)));
    await pass(id);
  }
  return { seed, crash, beside, sends, answers, late: await attempt("poll") };
}

forCasesInTurn(
  "C3 C4 in %s races of callbacks, polls, crashes and two instances each delivery is sent once",
  { usual: [200], others: [1_000] },
  async (races) => {
    const { db } = opened.services;
    const owner = await addOwner(opened.services);
    const ids = Array.from({ length: races }, () => newId());
    const row = { ownerId: owner.userId, channel: "webhook", event: "endpoint.test" } as const;
    await db.insert(deliveries).values(ids.map((id) => ({ id, ...row, target: id })));
    const ended: Race[] = [];
    for (let start = 0; start < races; start += atOnce)
      ended.push(
        ...(await Promise.all(ids.slice(start, start + atOnce).map((id, at) => runRace(id, start + at)))),
      );
    const wrong = ended.filter(({ crash, beside, sends, answers, late }) => {
      // No receiver can be asked whether it has what a dead process sent, so that message comes twice.
      const wanted = crash === "after the send" ? 2 : 1;
      return (
        beside !== (crash === "none" ? null : "delivering") ||
        sends !== wanted ||
        answers.filter((one) => one === "delivered").length !== 1 ||
        late !== "already_delivered"
      );
    });
    expect(wrong).toEqual([]);
    const crashes = ended.filter(({ crash }) => crash !== "none").length;
    expect(crashes).toBeGreaterThan(races / 2);
    const rows = await db.select().from(deliveries).where(inArray(deliveries.id, ids));
    expect(rows.every((one) => one.deliveredAt !== null && one.deliveringAt === null)).toBe(true);
  },
);
