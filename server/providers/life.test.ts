import { addOwner } from "@atelier/testing/jobs";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type AttemptState, schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { attemptHoldMs, ownOutageMs } from "./attempts.ts";
import { acceptAttempt, endAttempt, failAttempt, holdAttempt, loseAttempt, moves } from "./life.ts";
import { ProviderError } from "./port.ts";

const states = ["submitting", "unknown", "accepted", "succeeded", "failed", "cancelled"] as const;
const isKnown = (state: AttemptState): boolean => states.includes(state);

let opened: TestServices;
let ownerId: string;
beforeAll(async () => {
  opened = await createTestServices();
  ownerId = (await addOwner(opened.services)).userId;
});
afterAll(() => opened.close());

async function addAttempt(state: AttemptState): Promise<string> {
  const id = newId();
  const names = { model: "m", provider: "fal", keyId: "k", endpoint: "e", token: id };
  await opened.services.db.insert(schema.providerAttempts).values({ id, ownerId, state, ...names });
  return id;
}

const handle = { endpoint: "e", externalId: "run", urls: {} };
const lost = { firstLookS: 0, message: null };
const failure = { error: new ProviderError("transient", "HTTP 500"), costUsd: null };

function moveBy(name: keyof typeof moves, id: string) {
  const { db, config } = opened.services;
  switch (name) {
    case "accept":
      return acceptAttempt(db, id, { handle, pollAfterS: 1, runLimitS: 60 });
    case "lose":
      return loseAttempt(db, config, id, lost);
    case "fail":
      return failAttempt(db, { id, finishToken: null }, failure);
    case "succeed":
      return endAttempt(db, { id, finishToken: null }, { state: "succeeded", costUsd: 0.1 });
    case "cancel":
      return endAttempt(db, { id, finishToken: null }, { state: "cancelled", costUsd: null });
  }
}

const names = ["accept", "lose", "fail", "succeed", "cancel"] as const satisfies (keyof typeof moves)[];

test("every move of an attempt is one of the table, and from another state it changes nothing", async () => {
  expect(names.toSorted()).toEqual(Object.keys(moves).toSorted());
  expect(
    Object.values(moves)
      .flatMap(({ from, to }) => [...from, to])
      .every(isKnown),
  ).toBe(true);
  const seen: string[] = [];
  const expected: string[] = [];
  for (const state of states)
    for (const name of names) {
      const id = await addAttempt(state);
      const moved = await moveBy(name, id);
      const { providerAttempts } = schema;
      const [row] = await opened.services.db
        .select()
        .from(providerAttempts)
        .where(eq(providerAttempts.id, id));
      const { from, to } = moves[name];
      const isAllowed = from.some((each) => each === state);
      seen.push(`${state} ${name}: ${row?.state}, ${moved ? "moved" : "not moved"}`);
      expected.push(`${state} ${name}: ${isAllowed ? to : state}, ${isAllowed ? "moved" : "not moved"}`);
    }
  expect(seen).toEqual(expected);
});

test("a call is held for as long as its result waits for the store, a look of a follower for half an hour", async () => {
  const { services } = opened;
  const renewals = async (finishToken: string | null) => {
    let count = 0;
    const renew = vi.spyOn(services.db, "update").mockImplementation(() => {
      count += 1;
      return { set: () => ({ where: () => Promise.resolve() }) } as never;
    });
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const work = Promise.withResolvers<void>();
    try {
      const held = holdAttempt(services, { id: newId(), finishToken }, () => work.promise);
      vi.advanceTimersByTime(2 * ownOutageMs);
      work.resolve();
      await held;
    } finally {
      vi.useRealTimers();
      renew.mockRestore();
    }
    return count;
  };
  const halfHour = Math.ceil((30 * 60_000) / (attemptHoldMs / 3));
  expect(await renewals(newId())).toBe(halfHour);
  expect(await renewals(null)).toBe(halfHour + ownOutageMs / (attemptHoldMs / 3));
});
