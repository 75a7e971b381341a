import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { noteConfirmed, requireRecent, requireTyped } from "./sessions.ts";

const { sessions } = schema;
const hourMs = 3_600_000;

let opened: TestServices;
beforeAll(async () => {
  opened = await createTestServices();
});
afterAll(() => opened.close());
afterEach(() => void vi.useRealTimers());

const setClock = (aheadMs: number) =>
  vi.useFakeTimers({ toFake: ["Date"], now: performance.timeOrigin + performance.now() + aheadMs });

/** A session as a sign-in begins one, by the clock of the pages. */
async function begin(): Promise<string> {
  const { db } = opened.services;
  const [id, now] = [newId(), new Date()];
  const times = { createdAt: now, updatedAt: now, expiresAt: new Date(now.getTime() + hourMs) };
  await db.insert(sessions).values({ id, token: id, userId: await addUser(opened.services), ...times });
  return id;
}

test.each([0, -hourMs, hourMs])(
  "on pages whose clock is %i ms ahead of the database's a session is new, and a password was typed, for ten minutes",
  async (aheadMs) => {
    const { db } = opened.services;
    setClock(aheadMs);
    const id = await begin();
    await requireRecent({ db }, id);
    await expect(requireTyped({ db }, id)).rejects.toMatchObject({ details: { reason: "not_recent" } });
    await noteConfirmed({ db }, id);
    await requireTyped({ db }, id);
    setClock(aheadMs + 11 * 60_000);
    await expect(requireRecent({ db }, id)).rejects.toMatchObject({ code: "forbidden" });
    await expect(requireTyped({ db }, id)).rejects.toMatchObject({ code: "forbidden" });
  },
);

test("a clock that is set back makes no old session a new one", async () => {
  const { db } = opened.services;
  setClock(hourMs);
  const id = await begin();
  await noteConfirmed({ db }, id);
  setClock(0);
  await expect(requireRecent({ db }, id)).rejects.toMatchObject({ code: "forbidden" });
  await expect(requireTyped({ db }, id)).rejects.toMatchObject({ code: "forbidden" });
  await noteConfirmed({ db }, id);
  await requireRecent({ db }, id);
  expect(await db.$count(sessions, eq(sessions.id, id))).toBe(1);
});
