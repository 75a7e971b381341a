// @module-tag all
import { startLlm } from "@atelier/testing/llm";
import { type PrivatePostgres, startPgvector } from "@atelier/testing/postgres";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { migrate, openDatabase } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import { addSpeaker, importTalks } from "../import-talks.ts";
import { addMemory, deleteMemory, editMemory, forgetEverything } from "../memories.ts";
import { meaningLimits } from "./mirror.ts";
import { recall } from "./recall.ts";
import type { Period } from "./rows.ts";
import { embedMissing } from "../stages/index.ts";

const llm = await startLlm();
const { log, lines } = captureLog();
let postgres: PrivatePostgres;
let fixture: TestServices;
/** The process has all vectors in its memory. */
let inMemory: Services;
/** They do not fit, so that the database compares them. */
let inDatabase: Services;
beforeAll(async () => {
  postgres = await startPgvector();
  fixture = await createTestServices({
    env: { ...llm.env, LLM_EMBEDDING_MODEL: "local/simulated", DATABASE_URL: postgres.url },
    config: { assistant: { embedding: { queryTimeoutS: 30 } } },
    log,
  });
  inMemory = fixture.services;
  inDatabase = withoutMemory(inMemory);
});
afterAll(async () => {
  meaningLimits.waitMs = waitMs;
  await fixture.close();
  await postgres.destroy();
  await llm.close();
});
// A busy machine keeps these limits; a test of what is too late has the usual ones.
const { waitMs } = meaningLimits;
beforeEach(() => {
  lines.length = 0;
  meaningLimits.waitMs = 30_000;
});

function withoutMemory(services: Services): Services {
  const embedding = { ...services.config.assistant.embedding, cacheMb: 0.01 };
  const assistant = { ...services.config.assistant, embedding };
  return { ...services, config: { ...services.config, assistant } };
}

const start = Date.UTC(2026, 3, 1, 10);
const dayMs = 86_400_000;
const things = ["couch", "car", "doctor", "garden", "dog", "boat", "piano", "kettle"];
const acts = ["bought", "sold", "painted", "lost", "found", "mended"];

/** Every line differs from all others in its words, and so in its vector. */
const talk = Array.from(
  { length: 400 },
  (_, at) => `We ${acts[at % 6]} a ${things[at % 8]} near house ${at * 7} with ${things[(at * 3 + 1) % 8]}.`,
);
/** Lines that have nothing of a couch. */
const plain = Array.from({ length: 60 }, (_, at) => `Line ${at} about garden number ${1_000 + at * 7}.`);
const couch = "They purchased a scarlet settee.";

const embedAll = (on = inMemory) =>
  embedMissing(on, { signal: new AbortController().signal, isForced: true });

async function remember(...texts: string[]): Promise<string> {
  const userId = await addSpeaker(inMemory.db, "Ann");
  const messages = texts.map((text, at) => {
    const time = new Date(start + at * dayMs);
    return { session: `talk ${Math.floor(at / 20)}`, id: `${at}`, at: time, speaker: "Ann", text };
  });
  await importTalks(inMemory.db, userId, messages);
  await embedAll();
  return userId;
}

const search = (on: Services, userId: string, query: string, period: Period | null = null) =>
  recall(on, userId, query, { limit: 20, period });
const find = async (on: Services, userId: string, query: string) =>
  (await search(on, userId, query)).map(({ text }) => text);

test("M1 what pgvector compares is ranked like what the process compares itself", async () => {
  const userId = await remember(...talk, couch);
  const period = { from: new Date(start + 50 * dayMs), to: new Date(start + 250 * dayMs) };
  const named = ["bought red couch?", "automobile", "glad physician", "house 700", "nothing of all this"];
  const queries = [...things.map((thing) => `Who had a ${thing}?`), ...named];
  const off = { ...inMemory, env: { ...inMemory.env, LLM_EMBEDDING_MODEL: undefined } };
  const [byWords, byMeaning] = [[], []] as [string[][], string[][]];
  for (const query of queries)
    for (const within of [null, period]) {
      const known = await search(inMemory, userId, query, within);
      const found = await search(inDatabase, userId, query, within);
      expect(found.map(({ text }) => text)).toEqual(known.map(({ text }) => text));
      for (const [at, { score }] of found.entries()) expect(score).toBeCloseTo(known[at]?.score ?? NaN, 3);
      byWords.push((await search(off, userId, query, within)).map(({ text }) => text));
      byMeaning.push(known.map(({ text }) => text));
    }
  // Else the comparison above would say nothing of vectors.
  const changed = byMeaning.filter((texts, at) => texts.join() !== byWords[at]?.join());
  expect(changed.length).toBeGreaterThan(queries.length);
  expect(lines).toEqual([]);
});

test("M2 S6 what was deleted or changed, and what others said, is not found by pgvector", async () => {
  const [ownerId, other] = [await remember(...plain), await remember(couch, ...plain)];
  const memory = await addMemory(inMemory, { ownerId, text: "We drove an automobile." });
  await embedAll();
  expect(await find(inDatabase, ownerId, "bought red couch?")).not.toContain(couch);
  expect((await find(inDatabase, other, "bought red couch?"))[0]).toBe(couch);
  expect((await find(inDatabase, ownerId, "car"))[0]).toBe("We drove an automobile.");
  await editMemory(inMemory, { ownerId, id: memory.id, text: "A cheerful physician." });
  expect(await find(inDatabase, ownerId, "car")).not.toContain("A cheerful physician.");
  await embedAll();
  expect((await find(inDatabase, ownerId, "glad doctor"))[0]).toBe("A cheerful physician.");
  await deleteMemory(inMemory, { ownerId, id: memory.id });
  expect(await find(inDatabase, ownerId, "glad doctor")).not.toContain("A cheerful physician.");
  await forgetEverything(inMemory, ownerId);
  expect(await find(inDatabase, ownerId, "glad doctor")).toEqual([]);
  expect(await countCopies(ownerId)).toBe(0);
  expect(await countCopies(other)).toBe(plain.length + 1);
});

async function countCopies(userId: string): Promise<number> {
  const rows = await inMemory.db.execute(`select from recall_copies where owner_id = '${userId}'`);
  return rows.length;
}

test("M1 until all vectors of a user are copied words alone decide", async () => {
  const userId = await remember(couch, ...Array.from({ length: 20 }, () => plain).flat());
  const copies = await countCopies(userId);
  expect(copies).toBe(plain.length * 20 + 1);
  await inMemory.db.execute(`delete from recall_copies where owner_id = '${userId}' and revision > (
    select min(revision) from recall_copies where owner_id = '${userId}')`);
  expect((await find(inDatabase, userId, "purchased scarlet things?"))[0]).toBe(couch);
  expect(await find(inDatabase, userId, "bought red sofa?")).not.toContain(couch);
  await embedAll();
  expect(await countCopies(userId)).toBe(copies);
  expect((await find(inDatabase, userId, "bought red sofa?"))[0]).toBe(couch);
});

test("M1 pgvector may be removed and come back: meanwhile words alone decide and vectors are made", async () => {
  const userId = await remember(couch, ...plain);
  await inMemory.db.execute("drop extension vector cascade");
  expect(await find(inDatabase, userId, "bought red couch?")).not.toContain(couch);
  expect((await find(inMemory, userId, "bought red couch?"))[0]).toBe(couch);
  await addMemory(inMemory, { ownerId: userId, text: "We drove an automobile." });
  expect(await embedMissing(inMemory, { signal: new AbortController().signal, isForced: false })).toBe(1);
  expect(await find(inDatabase, userId, "car")).not.toContain("We drove an automobile.");
  expect(lines).toEqual([]);
  await embedAll();
  expect((await find(inDatabase, userId, "bought red couch?"))[0]).toBe(couch);
  expect((await find(inDatabase, userId, "car"))[0]).toBe("We drove an automobile.");
});

/** As a worker of an older version makes it, also while it runs beside this one. */
async function copyAsOlder(): Promise<void> {
  await inMemory.db.execute(`
    create table recall_mirror (id uuid primary key references recall_vectors on delete cascade, owner_id text not null,
      model text not null, dimensions int not null, from_at timestamptz not null, to_at timestamptz not null,
      revision bigint not null, codes halfvec not null)`);
  await inMemory.db.execute(`
    insert into recall_mirror select id, owner_id, model, dimensions, from_at, to_at, revision,
      array(select 0 from generate_series(1, dimensions))::halfvec from recall_vectors`);
}
const olderCopies = () =>
  inMemory.db.execute("select from pg_class where relname = 'recall_mirror' and relkind = 'r'");

test("M1 the copies of an older version are not used, and are gone once there are new ones", async () => {
  const userId = await remember(couch, ...plain);
  await inMemory.db.execute("drop table recall_copies");
  await copyAsOlder();
  expect(await find(inDatabase, userId, "bought red sofa?")).not.toContain(couch);
  await embedAll();
  expect(await countCopies(userId)).toBe(plain.length + 1);
  expect((await find(inDatabase, userId, "bought red sofa?"))[0]).toBe(couch);
  expect(await olderCopies()).toHaveLength(0);
});

test("M1 copies that a worker of an older version has made again beside new ones are gone after the next look through all", async () => {
  const userId = await remember(couch, ...plain);
  await copyAsOlder();
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = inMemory.db.transaction(async (tx) => {
    await tx.execute("select from recall_mirror limit 1");
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  meaningLimits.waitMs = waitMs;
  await embedAll();
  expect(await olderCopies()).toHaveLength(1);
  expect(lines.filter((line) => line.includes("older version could not be removed"))).toHaveLength(1);
  meaningLimits.waitMs = 30_000;
  held.resolve();
  await holding;
  await embedAll();
  expect(await olderCopies()).toHaveLength(0);
  expect(await countCopies(userId)).toBe(plain.length + 1);
});

test("M1 a database that takes too long for it is not waited for", async () => {
  const userId = await remember(couch, ...plain);
  const free = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = inMemory.db.transaction(async (tx) => {
    await tx.execute("lock table recall_copies in access exclusive mode");
    locked.resolve();
    await free.promise;
  });
  await locked.promise;
  meaningLimits.waitMs = waitMs;
  expect((await find(inDatabase, userId, "purchased scarlet things?"))[0]).toBe(couch);
  expect(lines.filter((line) => line.includes("pgvector could not be used"))).toHaveLength(1);
  meaningLimits.waitMs = 30_000;
  free.resolve();
  await holding;
  expect((await find(inDatabase, userId, "bought red couch?"))[0]).toBe(couch);
});

test("M1 a role that may not create the extension uses the one that another role created", async () => {
  const admin = (statement: string) => inMemory.db.execute(statement);
  await admin("create role plain login password 'plain'");
  await admin("create database plain owner plain");
  const url = new URL(postgres.url);
  [url.username, url.password, url.pathname] = ["plain", "plain", "plain"];
  await migrate(url.href);
  const own = await createTestServices({
    env: { ...llm.env, LLM_EMBEDDING_MODEL: "local/simulated", DATABASE_URL: url.href },
    log,
  });
  const userId = await addSpeaker(own.services.db, "Ann");
  await addMemory(own.services, { ownerId: userId, text: couch });
  await embedAll(own.services);
  await embedAll(own.services);
  const named = "its role cannot use it";
  expect(lines.filter((line) => line.includes(named))).toHaveLength(1);
  expect(await find(withoutMemory(own.services), userId, "sofa")).toEqual([]);
  expect(await find(own.services, userId, "sofa")).toEqual([couch]);
  url.username = new URL(postgres.url).username;
  url.password = new URL(postgres.url).password;
  const superuser = openDatabase({ url: url.href, applicationName: "test", maxConnections: 1 });
  await superuser.db.execute("create extension vector");
  await superuser.close();
  await embedAll(own.services);
  expect(lines.filter((line) => line.includes(named))).toHaveLength(1);
  expect(await find(withoutMemory(own.services), userId, "sofa")).toEqual([couch]);
  await own.close();
});
