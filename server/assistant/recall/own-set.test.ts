import { forCasesInTurn } from "@atelier/testing/cases";
import { makeAnswers, makeTalks, type ToldTalks } from "@atelier/testing/memory";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import { addSpeaker, type ImportedIds, importTalks } from "../import-talks.ts";
import { deleteMemory, exportMemories, forgetEverything } from "../memories.ts";
import { deleteConversation } from "../talks.ts";
import { recall } from "./recall.ts";
import { archive } from "../stages/archive.ts";

interface Teller {
  readonly userId: string;
  readonly told: ToldTalks;
  readonly ids: ImportedIds;
}

let fixture: TestServices;
let one: Teller;
let two: Teller;
const talks = 80;

async function tell(seed: number): Promise<Teller> {
  const { db } = fixture.services;
  const userId = await addSpeaker(db, "Me");
  const told = makeTalks({ seed, talks });
  return { userId, told, ids: await importTalks(db, userId, told.messages) };
}

beforeAll(async () => {
  fixture = await createTestServices();
  [one, two] = [await tell(1), await tell(2)];
  await archive(fixture.services, { signal: new AbortController().signal, isForced: true });
}, 120_000);
afterAll(() => fixture.close());

const find = ({ userId }: Teller, query: string, limit = 50) =>
  recall(fixture.services, userId, query, { limit });

test("M2 S6 no question of one user finds anything of the other, though both speak of the same subjects", async () => {
  const owned = async ({ userId }: Teller) => {
    const { db } = fixture.services;
    const messages = await db
      .select({ id: schema.assistantMessages.id })
      .from(schema.assistantMessages)
      .where(eq(schema.assistantMessages.ownerId, userId));
    const memories = await db
      .select({ id: schema.memories.id })
      .from(schema.memories)
      .where(eq(schema.memories.ownerId, userId));
    expect(memories.length).toBeGreaterThan(0);
    return new Set([...messages, ...memories].map(({ id }) => id));
  };
  for (const [asker, other] of [
    [one, two],
    [two, one],
  ] as const) {
    const ids = await owned(asker);
    for (const { question, value } of other.told.facts) {
      const hits = [...(await find(asker, question)), ...(await find(asker, value))];
      expect(hits.filter(({ id, text }) => !ids.has(id) || text.includes(value))).toEqual([]);
    }
  }
});

test("M2 of a fact that changed the current statement is among the first, and mostly the first", async () => {
  let first = 0;
  for (const { userId, told, ids } of [one, two])
    for (const { question, currentId, value } of told.facts) {
      const hits = await recall(fixture.services, userId, question, { limit: 10 });
      expect([
        question,
        hits.some(({ id, text }) => id === ids.get(currentId) || text.includes(value)),
      ]).toEqual([question, true]);
      if (hits[0]?.text.includes(value)) first += 1;
    }
  expect(first / (one.told.facts.length * 2)).toBeGreaterThanOrEqual(0.95);
});

test("M2 S6 a deleted memory, its lines and a deleted talk are found by no question, nor exported", async () => {
  const { userId, told, ids } = two;
  const { services } = fixture;
  const gone = told.facts.slice(0, 10);
  const own = (id: string) => ({ ownerId: userId, id });
  for (const memory of await exportMemories(services, userId))
    if (gone.some(({ value }) => memory.summary.includes(value)))
      await deleteMemory(services, own(memory.id));
  const { db } = services;
  const { assistantMessages } = schema;
  // The talks in which the last of them were said as well, with all their lines.
  for (const { currentId } of gone.slice(5)) {
    const [row] = await db
      .select({ conversationId: assistantMessages.conversationId })
      .from(assistantMessages)
      .where(eq(assistantMessages.id, ids.get(currentId) ?? ""));
    if (row) await deleteConversation(services, own(row.conversationId));
  }
  const exported = JSON.stringify(await exportMemories(services, userId));
  for (const { question, currentId, value } of gone) {
    const deleted = ids.get(currentId);
    const hits = [...(await find(two, question)), ...(await find(two, value))];
    expect(hits.filter(({ id, text }) => id === deleted || text.includes(value))).toEqual([]);
    expect(exported).not.toContain(value);
  }
  // What was not deleted is still known.
  const kept = one.told.facts[0];
  expect((await find(one, kept?.question ?? "")).some(({ text }) => text.includes(kept?.value ?? ""))).toBe(
    true,
  );
});

test("M2 after forgetting everything nothing is found, of one user alone", async () => {
  await forgetEverything(fixture.services, two.userId);
  for (const { question, value } of two.told.facts)
    expect([...(await find(two, question)), ...(await find(two, value))]).toEqual([]);
  expect(await find(one, one.told.facts[0]?.question ?? "")).not.toEqual([]);
});

const answers = Map.groupBy(makeAnswers(), ({ name }) => (["ru", "zh"].includes(name) ? "usual" : "others"));

forCasesInTurn(
  "M1 the reply of the named person is among five, though it has no word of the question: $name",
  { usual: answers.get("usual") ?? [], others: answers.get("others") ?? [] },
  async ({ name, messages, questions }) => {
    const { services } = fixture;
    const userId = await addSpeaker(services.db, name);
    const ids = await importTalks(services.db, userId, messages);
    const asked = questions.filter((_, at) => at % 5 === 0);
    for (const { text, evidence } of asked) {
      const hits = await recall(services, userId, text, { limit: 5 });
      expect(hits.map(({ id }) => id)).toContain(ids.get(evidence[0] ?? ""));
    }
  },
);
