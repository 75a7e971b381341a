import { createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import { addSpeaker } from "./import-talks.ts";
import { readConversation } from "./read.ts";
import { listConversations } from "./talks.ts";

let fixture: TestServices;
let ownerId = "";
beforeAll(async () => {
  fixture = await createTestServices();
  ownerId = await addSpeaker(fixture.services.db, "Ann");
});
afterAll(() => fixture.close());

const { assistantConversations, assistantMessages } = schema;

test("each conversation is on one page, also where many were used at the same moment", async () => {
  const lastAt = new Date(Date.now() - 60_000);
  const conversations = Array.from({ length: 95 }, (_, at) => ({
    id: newId(),
    ownerId,
    lastAt: at % 10 === 0 ? new Date(lastAt.getTime() - at) : lastAt,
  }));
  await fixture.services.db.insert(assistantConversations).values(conversations);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const { items, next } = await listConversations(fixture.services, { ownerId, cursor });
    seen.push(...items.map(({ id }) => id));
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  const latest = conversations.toSorted(
    (a, b) => b.lastAt.getTime() - a.lastAt.getTime() || (a.id < b.id ? 1 : -1),
  );
  expect(seen).toEqual(latest.map(({ id }) => id));
});

test.each([
  "x",
  "",
  "_",
  `1_x`,
  `x_${newId()}`,
  `1e5_${newId()}`,
  `${"9".repeat(18)}_${newId()}`,
  `_${newId()}`,
])("a cursor that is none is refused: %j", async (cursor) => {
  const listed = listConversations(fixture.services, { ownerId, cursor });
  await expect(listed).rejects.toMatchObject({ code: "bad_request" });
});

test("words that were said within one millisecond stand in the order in which they were said", async () => {
  const conversationId = newId();
  const { db } = fixture.services;
  await db.insert(assistantConversations).values({ id: conversationId, ownerId });
  const at = new Date(Date.now() - 60_000);
  const said = Array.from({ length: 30 }, (_, number) => ({
    id: newId(),
    conversationId,
    ownerId,
    role: "user" as const,
    text: `Number ${number}.`,
    at,
  }));
  await db.insert(assistantMessages).values(said.toReversed());
  const { turns } = await readConversation(fixture.services, { ownerId, id: conversationId });
  expect(turns.map(({ question }) => question)).toEqual(said.map(({ text }) => text));
});
