import { startLlm } from "@atelier/testing/llm";
import { countStatements } from "@atelier/testing/postgres";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Services } from "../../services.ts";
import { addSpeaker, importTalks } from "../import-talks.ts";
import { addMemory, deleteMemory, editMemory, forgetEverything } from "../memories.ts";
import { meaningLimits } from "./mirror.ts";
import { recall } from "./recall.ts";
import { vectorModel } from "../models.ts";
import { embedMissing } from "../stages/index.ts";
import { findDimensions, readVectors } from "../../meaning/index.ts";

const llm = await startLlm();
const { log, lines } = captureLog();
// A question waits as long as a busy machine needs; where the model is to be too late, a test has its own limit.
const embedding = { queryTimeoutS: 30, restS: 0.01 };
let fixture: TestServices;
let services: Services;
const { waitMs } = meaningLimits;
beforeAll(async () => {
  meaningLimits.waitMs = 30_000;
  fixture = await createTestServices({
    env: { ...llm.env, LLM_EMBEDDING_MODEL: "local/simulated" },
    config: { assistant: { embedding, retryDelayS: 0.01 } },
    log,
  });
  ({ services } = fixture);
});
afterAll(async () => {
  meaningLimits.waitMs = waitMs;
  await fixture.close();
  await llm.close();
});
beforeEach(() => {
  llm.answerEmbedding = () => ({});
  lines.length = 0;
});

const start = Date.UTC(2026, 3, 1, 10);
const dayMs = 86_400_000;

/** A talk of plain lines, one a day; among them others can be told apart. */
const lines40 = Array.from(
  { length: 40 },
  (_, at) => `Line ${at} about garden number ${1_000 + at * 7}, nothing else.`,
);

async function remember(...texts: string[]): Promise<string> {
  const userId = await addSpeaker(services.db, "Ann");
  const messages = [...lines40, ...texts].map((text, at) => {
    const time = new Date(start + at * dayMs);
    return { session: `talk ${at}`, id: `${at}`, at: time, speaker: "Ann", text };
  });
  await importTalks(services.db, userId, messages);
  await embedAll();
  return userId;
}

const embedAll = (on = services) =>
  embedMissing(on, { signal: new AbortController().signal, isForced: true });

async function find(
  userId: string,
  query: string,
  {
    on = services,
    period = null,
  }: { on?: Services; period?: { from: Date | null; to: Date | null } | null } = {},
): Promise<string[]> {
  return (await recall(on, userId, query, { limit: 10, period })).map(({ text }) => text);
}

/** The same studio with other settings, and what its process knows of vectors. */
function withEmbedding(changes: Partial<Services["config"]["assistant"]["embedding"]>): Services {
  const assistant = {
    ...services.config.assistant,
    embedding: { ...services.config.assistant.embedding, ...changes },
  };
  return { ...services, config: { ...services.config, assistant } };
}

/** Numbers that depend on a text and say nothing of it. */
function noise(text: string): number[] {
  let state = Buffer.from(text).reduce((sum, byte) => Math.imul(sum, 31) + byte, 7) >>> 0;
  return Array.from({ length: 64 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

const couch = "They purchased a scarlet settee.";

test("M1 what has no word of the question is found by its meaning", async () => {
  const userId = await remember(couch);
  const without = { ...services, env: { ...services.env, LLM_EMBEDDING_MODEL: undefined } };
  expect(await find(userId, "bought red couch?", { on: without })).toEqual([]);
  expect((await find(userId, "bought red couch?"))[0]).toBe(couch);
  expect((await find(userId, "garden number 1049"))[0]).toBe(lines40[7]);
});

test("M1 vectors that mean nothing do not change what words find", async () => {
  llm.answerEmbedding = ({ texts }) => ({ vectors: texts.map(noise) });
  const userId = await remember(couch);
  const off = { ...services, env: { ...services.env, LLM_EMBEDDING_MODEL: undefined } };
  for (let at = 0; at < lines40.length; at += 1) {
    const query = `What of garden number ${1_000 + at * 7}?`;
    const [plain] = await find(userId, query, { on: off });
    expect(plain).toBe(lines40[at]);
    expect((await find(userId, query))[0]).toBe(plain);
  }
});

test("M1 in a conversation that is near as a whole what is near comes before what is alone in another", async () => {
  // Lines say how near they are to the question, which has none of their words.
  const nearnessOf = (text: string) => Number(/0\.\d+/.exec(text)?.[0] ?? 1);
  llm.answerEmbedding = ({ texts }) => ({
    vectors: texts.map((text) => [nearnessOf(text), Math.sqrt(1 - nearnessOf(text) ** 2)]),
  });
  const talks = {
    quiet: [0.61, 0.1, 0.1, 0.1, 0.1],
    near: [0.6, 0.1, 0.4, 0.4, 0.4],
    other: Array.from({ length: 20 }, () => 0.1),
  };
  const messages = Object.entries(talks).flatMap(([session, lines]) =>
    lines.map((nearness, at) => {
      const time = new Date(start + at * 60_000);
      return { session, id: `${session} ${at}`, at: time, speaker: "Ann", text: `${session} ${nearness}` };
    }),
  );
  const userId = await addSpeaker(services.db, "Ann");
  await importTalks(services.db, userId, messages);
  await embedAll();
  const found = await find(userId, "bought red couch?");
  expect(found[0]).toBe("near 0.6");
  expect(found).toContain("quiet 0.61");
});

test("M2 S6 vectors of another user are never searched", async () => {
  const [ann, ben] = [await remember(couch), await remember("We drove an automobile.")];
  expect(await find(ben, "bought red couch?")).not.toContain(couch);
  expect((await find(ben, "car"))[0]).toBe("We drove an automobile.");
  expect((await find(ann, "bought red couch?"))[0]).toBe(couch);
  expect(await find(ann, "car")).not.toContain("We drove an automobile.");
});

test("M2 what one process deleted or changed no other finds by its vector", async () => {
  const ownerId = await remember();
  const another = await fixture.openAnother();
  const memory = await addMemory(services, { ownerId, text: couch });
  await embedAll();
  expect((await find(ownerId, "red couch", { on: another }))[0]).toBe(couch);
  await editMemory(services, { ownerId, id: memory.id, text: "A cheerful physician." });
  expect(await find(ownerId, "red couch", { on: another })).not.toContain("A cheerful physician.");
  await embedAll();
  expect((await find(ownerId, "glad doctor", { on: another }))[0]).toBe("A cheerful physician.");
  await deleteMemory(services, { ownerId, id: memory.id });
  expect(await find(ownerId, "glad doctor", { on: another })).not.toContain("A cheerful physician.");
  await forgetEverything(services, ownerId);
  expect(await find(ownerId, "glad doctor", { on: another })).toEqual([]);
  const left = await services.db.execute(`select from recall_vectors where owner_id = '${ownerId}'`);
  expect(left).toHaveLength(0);
});

test("M2 lines that a deleted memory was made of lose their vectors", async () => {
  const ownerId = await remember(couch);
  await services.db.execute(`
    insert into memories (id, owner_id, summary, tags, period_start, period_end, source_ids, origin)
    select gen_random_uuid(), owner_id, 'About furniture.', '{}', at, at, array[id], 'archive' from assistant_messages
    where owner_id = '${ownerId}' and text = '${couch}'`);
  const [memory] = await services.db.execute<{ id: string }>(
    `select id from memories where owner_id = '${ownerId}'`,
  );
  expect((await find(ownerId, "red couch"))[0]).toBe(couch);
  await deleteMemory(services, { ownerId, id: memory?.id ?? "" });
  expect(await find(ownerId, "red couch")).not.toContain(couch);
  await embedAll();
  expect(await find(ownerId, "red couch")).not.toContain(couch);
});

test("M2 a period keeps everything else out, and what is in it is found behind a crowd outside", async () => {
  const crowd = Array.from({ length: 260 }, (_, at) => `A scarlet settee, seen ${at} times.`);
  const userId = await remember(...crowd, "A crimson sofa.");
  const from = new Date(start + (lines40.length + crowd.length) * dayMs);
  expect(await find(userId, "red couch", { period: { from, to: null } })).toEqual(["A crimson sofa."]);
  const to = new Date(start + 10 * dayMs);
  expect(await find(userId, "red couch", { period: { from: null, to } })).not.toContain("A crimson sofa.");
});

test("vectors of another model are not searched; new ones take their place", async () => {
  const userId = await remember(couch);
  const other = { ...services, env: { ...services.env, LLM_EMBEDDING_MODEL: "local/another" } };
  expect(await find(userId, "bought red couch?", { on: other })).toEqual([]);
  await embedAll(other);
  expect((await find(userId, "bought red couch?", { on: other }))[0]).toBe(couch);
  expect(await find(userId, "bought red couch?")).toEqual([]);
  await embedAll();
});

test("a model that was exchanged under its name: its old vectors are made again", async () => {
  const userId = await remember(couch);
  llm.answerEmbedding = ({ texts }) => ({ vectors: texts.map((text) => [text.length, 1, 0]) });
  expect(await find(userId, "bought red couch?")).toEqual([]);
  await addMemory(services, { ownerId: userId, text: "Something new." });
  await embedAll();
  await embedAll();
  const sizes = await services.db.execute<{ dimensions: number; count: number }>(
    `select dimensions, count(*)::int from recall_vectors where owner_id = '${userId}' group by 1`,
  );
  expect(sizes).toEqual([{ dimensions: 3, count: lines40.length + 2 }]);
});

test.each([
  ["away", { status: 503 }],
  ["silent", { delayMs: Infinity }],
  ["refusing", { status: 401 }],
  ["of fewer vectors", { vectors: [] }],
])("M1 with a model that is %s words alone decide, which is logged once", async (_name, fault) => {
  const userId = await remember(couch);
  const hasty = withEmbedding({ queryTimeoutS: 0.3 });
  const words = async (query: string) => {
    const hits = await recall(hasty, userId, query, { limit: 10 });
    return hits.map(({ text, score }) => [text, score]);
  };
  llm.answerEmbedding = () => fault;
  const off = { ...services, env: { ...services.env, LLM_EMBEDDING_MODEL: undefined } };
  const plain = await recall(off, userId, "settee or garden 1035?", { limit: 10 });
  expect(plain.map(({ text }) => text)).toContain(couch);
  expect(await words("settee or garden 1035?")).toEqual(plain.map(({ text, score }) => [text, score]));
  const asked = llm.embeddings.length;
  await expect
    .poll(async () => {
      await find(userId, "settee or garden 1035?", { on: hasty });
      return llm.embeddings.length;
    })
    .toBeGreaterThan(asked);
  expect(lines.filter((line) => line.includes("searched by words alone"))).toHaveLength(1);
  llm.answerEmbedding = () => ({});
  await expect.poll(() => find(userId, "bought red couch?")).toContain(couch);
});

test("vectors that need more memory than the process may use are not searched", async () => {
  const userId = await remember(couch);
  expect((await find(userId, "bought red couch?"))[0]).toBe(couch);
  expect(await find(userId, "bought red couch?", { on: withEmbedding({ cacheMb: 0.01 }) })).toEqual([]);
  expect((await find(userId, "bought red couch?"))[0]).toBe(couch);
});

test("a user whose vectors do not fit is not read with each search, and pushes out nobody", async () => {
  const [small, large] = [await remember(couch), await remember(...lines40, ...lines40, ...lines40)];
  const model = vectorModel(services)?.key ?? "";
  const dimensions = (await findDimensions(services, { userId: small, model })) ?? 0;
  const read = (userId: string) =>
    readVectors(services, { userId, model, dimensions }, { maxBytes: 100_000 });
  expect(await read(small)).not.toBeNull();
  expect(await read(large)).toBeNull();
  expect(await countStatements(() => read(large))).toBe(0);
  await services.db.execute(`delete from recall_vectors where owner_id = '${small}'`);
  // A process that had to read them again would not know them.
  const table = await read(small);
  const query = Array.from({ length: dimensions }, (_, at) => at - dimensions / 2);
  expect(table?.search(query, null)?.near).not.toEqual([]);
});

test("a question is embedded once for all stages of a run, with the prefix that the model wants", async () => {
  const prefixed = withEmbedding({ queryPrefix: "query: ", documentPrefix: "text: " });
  const userId = await addSpeaker(services.db, "Ann");
  await addMemory(services, { ownerId: userId, text: couch });
  await embedAll(prefixed);
  const before = llm.embeddings.length;
  await find(userId, "red couch", { on: prefixed });
  await find(userId, "red couch", { on: prefixed });
  expect(llm.embeddings.slice(before).map(({ texts }) => texts)).toEqual([["query: red couch"]]);
  expect(llm.embeddings.slice(0, before).flatMap(({ texts }) => texts)).toContain(`text: ${couch}`);
});
