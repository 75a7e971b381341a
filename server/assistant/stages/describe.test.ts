// @module-tag all
import {
  absentModels,
  type LlmReply,
  pictureRefusals,
  picturesOf,
  startLlm,
  textOf,
  describeByColour,
} from "@atelier/testing/llm";
import { addUser } from "@atelier/testing/pictures";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { addTinyTextModel } from "@atelier/testing/text-model";
import { eq, inArray, sql } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { schema } from "../../db/index.ts";
import {
  changeImage,
  embedPictures,
  ingest,
  listImages,
  noteTry,
  purgeImages,
  removeImages,
  restoreImages,
} from "../../images/index.ts";
import { firstIdAt, newId } from "../../platform/index.ts";
import { ask, stopQuestion } from "../ask.ts";
import { readDescriptionFigures } from "../figures.ts";
import { setDescribesPictures } from "../settings.ts";
import { describePictures } from "./describe.ts";

const { descriptionTries, images, jobs, likenesses, modelCalls, modelNotes, turns, users } = schema;

const llm = await startLlm();
const { answer: byColour } = llm;
const env = { ...llm.env, LLM_VISION_MODEL: "local/eyes" };
let fixture: TestServices;
let ownerId: string;
beforeAll(async () => {
  fixture = await createTestServices({ env });
});
afterAll(async () => {
  await fixture.close();
  await llm.close();
});
beforeEach(async () => {
  const { db } = fixture.services;
  llm.answer = byColour;
  await db.update(images).set({ deletedAt: sql`now()` });
  await db.delete(turns);
  await db.delete(modelNotes);
  await db.delete(descriptionTries);
  ownerId = await addUser(fixture.services);
});

const signal = new AbortController().signal;
const describe = (more: object = {}) =>
  describePictures(fixture.services, { signal, isRecent: false, ...more });
/** The pauses of the model and of pictures are over. */
const passTime = async () => {
  await fixture.services.db.update(turns).set({ dueAt: sql`now() - interval '1 second'` });
  await fixture.services.db.update(descriptionTries).set({ dueAt: sql`now() - interval '1 second'` });
};

const colours = { red: "#dc1e1e", blue: "#283cd2", green: "#1ea03c", violet: "#8c28be" } as const;
async function addPicture(colour: keyof typeof colours = "red", size = { width: 64, height: 48 }) {
  const jpeg = await sharp({ create: { ...size, channels: 3, background: colours[colour] } })
    .jpeg()
    .toBuffer();
  const apart = newId();
  const { id } = await ingest(fixture.services, {
    ownerId,
    role: "upload",
    bytes: jpeg,
    name: "IMG_1.jpg",
    apart,
  });
  return id;
}

const wordsOf = async (id: string) => {
  const [row] = await fixture.services.db.select().from(images).where(eq(images.id, id));
  return [row?.description, row?.describedBy];
};
const simulated = (colour: string, size = "64 by 56") =>
  `A SIMULATED description of a mostly ${colour} picture, ${size}.`;
const asked = async (work: () => Promise<unknown>) => {
  const before = llm.requests.length;
  await work().catch(() => undefined);
  return llm.requests.slice(before);
};
/** Without questions that show whether the server works. */
const askedToDescribe = async (work: () => Promise<unknown>) =>
  (await asked(work)).filter(({ messages: [first] }) => first && !textOf(first).startsWith("Which colour"));

test("pictures without words are described, newest first and one at a time, and found by their words", async () => {
  const [red, blue] = [await addPicture("red"), await addPicture("blue", { width: 2_000, height: 1_000 })];
  let open = 0;
  let mostOpen = 0;
  llm.answer = async (request, number) => {
    mostOpen = Math.max(mostOpen, (open += 1));
    const reply = await byColour(request, number);
    open -= 1;
    return reply;
  };
  const sent = await asked(() => describe());
  expect(mostOpen).toBe(1);
  expect(sent.map(({ model }) => model)).toEqual(["eyes", "eyes", "eyes", "eyes"]);
  expect(sent.flatMap(picturesOf).map(({ mime, bytes }) => [mime, bytes.length < 200_000])).toEqual(
    sent.map(() => ["image/jpeg", true]),
  );
  // Between the two: which colours fill two plain pictures.
  expect(await Promise.all(sent.flatMap(picturesOf).map(describeByColour))).toEqual([
    simulated("blue", "768 by 384"),
    expect.stringContaining("orange"),
    expect.stringContaining("violet"),
    simulated("red"),
  ]);
  expect(await wordsOf(red)).toEqual([simulated("red"), "model"]);
  expect(await wordsOf(blue)).toEqual([simulated("blue", "768 by 384"), "model"]);
  const { items } = await listImages(fixture.services, { ownerId, search: "mostly blue" });
  expect(items.map(({ id }) => id)).toEqual([blue]);
  expect(await asked(() => describe())).toEqual([]);
  const calls = await fixture.services.db.select().from(modelCalls).where(eq(modelCalls.ownerId, ownerId));
  expect(calls.map(({ stage, errorClass, expectedUsd }) => [stage, errorClass, expectedUsd])).toEqual(
    sent.map(() => ["describer", null, 0]),
  );
  expect(await readDescriptionFigures(fixture.services)).toMatchObject({
    model: "local/eyes",
    described: 2,
    waiting: 0,
    failure: null,
  });
});

test("what a model writes is stored without marks that nobody sees", async () => {
  const id = await addPicture();
  llm.answer = () => ({ text: "A red\u202E wall\u0001 in\u200B the evening sun." });
  await describe();
  expect(await wordsOf(id)).toEqual(["A red wall in the evening sun.", "model"]);
});

test("a description is found by its meaning", async () => {
  await addTinyTextModel(fixture.services.env);
  const id = await addPicture();
  llm.answer = () => ({ text: "Aabbccdd".repeat(6) });
  await describe();
  await embedPictures(fixture.services, { signal, isRecent: true });
  const { items } = await listImages(fixture.services, { ownerId, search: `near:${"dcbaabcd".repeat(6)}` });
  expect(items.map((item) => item.id)).toEqual([id]);
});

test("only what nobody has words for is asked about: no prompts, files' and owners' words, masks, trash, other wishes", async () => {
  const { services } = fixture;
  const { db } = services;
  const row = (more: object) => ({
    id: newId(),
    ownerId,
    role: "upload" as const,
    storageKey: newId(),
    storedSha256: "",
    mime: "image/png",
    widthPx: 1,
    heightPx: 1,
    sizeBytes: 1,
    thumbhash: "",
    ...more,
  });
  const ended = { status: "completed", tier: 0, queue: "image", engine: "cloud", need: "cloud/m" } as const;
  const job = async (params: Record<string, unknown>, kind: "text_to_image" | "remove_background") => {
    const id = newId();
    await db.insert(jobs).values({ ...ended, id, ownerId, kind, params });
    return id;
  };
  const off = await addUser(services);
  await setDescribesPictures(services, { userId: off, isOn: false });
  const [banned, service] = [await addUser(services), await addUser(services)];
  await db.update(users).set({ banned: true }).where(eq(users.id, banned));
  await db.update(users).set({ role: "service" }).where(eq(users.id, service));
  await db
    .insert(images)
    .values([
      row({ role: "mask" }),
      row({ description: "of the file", describedBy: "file" }),
      row({ description: "", describedBy: "owner" }),
      row({ deletedAt: new Date() }),
      row({ role: "result", jobId: await job({ prompt: "a chair" }, "text_to_image") }),
      row({ ownerId: off }),
      row({ ownerId: banned }),
      row({ ownerId: service }),
    ]);
  expect(await asked(() => describe())).toEqual([]);
  const id = await addPicture("green");
  const cutOut = await job({ prompt: " " }, "remove_background");
  await db.update(images).set({ role: "result", jobId: cutOut }).where(eq(images.id, id));
  expect(await asked(() => describe())).toHaveLength(1);
  expect(await wordsOf(id)).toEqual([simulated("green"), "model"]);
  await db.update(users).set({ role: "user" }).where(eq(users.id, service));
});

test("the owner's language is asked for: the chosen one, else the browser's, else English", async () => {
  const { db } = fixture.services;
  const languages: string[] = [];
  const known = [
    { locale: null, browserLocale: null },
    { locale: null, browserLocale: "de" },
    { locale: "zh-CN", browserLocale: "de" },
  ] as const;
  for (const set of known) {
    await db.update(users).set(set).where(eq(users.id, ownerId));
    await addPicture();
    const [request] = await asked(() => describe());
    languages.push(/Write in ([^.]*)\./.exec(textOf(request?.messages[0] ?? { role: "user" }))?.[1] ?? "");
  }
  expect(languages).toEqual(["English", "German", "Simplified Chinese"]);
});

test("a server that takes no pictures is asked once, says so to admins, and is asked again after a day", async () => {
  const { db } = fixture.services;
  const ids = [await addPicture(), await addPicture()];
  const wrong: string[] = [];
  for (const [name, reply] of Object.entries(pictureRefusals)) {
    await db.delete(modelNotes);
    await db.delete(turns);
    await db.update(images).set({ description: "", describedBy: null });
    llm.answer = () => reply;
    const first = await asked(() => describe());
    await passTime();
    const then = await asked(() => describe());
    const figures = await readDescriptionFigures(fixture.services);
    if (first.length !== 1 || then.length > 0)
      wrong.push(`${name}: ${first.length} and ${then.length} requests`);
    if (!figures?.failure?.reason?.includes("takes no pictures"))
      wrong.push(`${name}: ${figures?.failure?.reason}`);
  }
  expect(wrong).toEqual([]);
  llm.answer = byColour;
  await db.update(modelNotes).set({ notedAt: sql`now() - interval '25 hours'` });
  await describe();
  expect(await Promise.all(ids.map(wordsOf))).toEqual(ids.map(() => [simulated("red"), "model"]));
});

test("a server whose model is gone or unknown gives up no picture", async () => {
  const { db } = fixture.services;
  const wrong: string[] = [];
  for (const [name, reply] of Object.entries(absentModels)) {
    await db.delete(modelNotes);
    await db.update(images).set({ deletedAt: sql`now()` });
    const ids = [await addPicture(), await addPicture()];
    llm.answer = () => reply;
    for (let round = 0; round < 2; round += 1) {
      await passTime();
      await asked(() => describe());
    }
    const tries = await db.select().from(descriptionTries).where(inArray(descriptionTries.imageId, ids));
    if (tries.some((one) => one.tries > 0)) wrong.push(`${name}: ${JSON.stringify(tries)}`);
    llm.answer = byColour;
    await passTime();
    await describe();
    for (const id of ids) if ((await wordsOf(id))[1] !== "model") wrong.push(`${name}: not described`);
  }
  expect(wrong).toEqual([]);
});

/** Servers that count the words alone, nothing, or words that they add themselves. */
const counts = [{ readTokens: 90 }, { readTokens: 0 }, { readTokens: 500 }];

test.each(counts)(
  "a model that is not shown the pictures describes none, and admins are told: %o",
  async (counted) => {
    const id = await addPicture();
    const model = `local/blind-${counted.readTokens}`;
    const blind = { ...fixture.services, env: { ...fixture.services.env, LLM_VISION_MODEL: model } };
    const look = () => describePictures(blind, { signal, isRecent: false });
    llm.answer = (request) =>
      /colour/i.test(textOf(request.messages[0] ?? { role: "user" }))
        ? { text: "Blue", ...counted }
        : { text: "A cosy café with wooden tables and warm light.", ...counted };
    await passTime();
    expect(await asked(look)).toHaveLength(2);
    await passTime();
    expect(await asked(look)).toHaveLength(0);
    expect(await wordsOf(id)).toEqual(["", null]);
    expect((await readDescriptionFigures(blind))?.failure?.reason).toContain("does not see the pictures");
    const tries = await fixture.services.db.select().from(descriptionTries);
    expect(tries.filter(({ imageId }) => imageId === id)).toEqual([]);
  },
);

test.each(counts)(
  "a model that sees is asked once for two colours, whatever its server counts: %o",
  async (counted) => {
    const ids = [await addPicture(), await addPicture("blue"), await addPicture("green")];
    const model = `local/sees-${counted.readTokens}`;
    const sees = { ...fixture.services, env: { ...fixture.services.env, LLM_VISION_MODEL: model } };
    llm.answer = async (request, number) => ({ ...(await byColour(request, number)), ...counted });
    expect(await asked(() => describePictures(sees, { signal, isRecent: false }))).toHaveLength(5);
    expect((await Promise.all(ids.map(wordsOf))).map(([, by]) => by)).toEqual(["model", "model", "model"]);
  },
);

test("a picture that a server fails of again and again, which describes others, is left in peace", async () => {
  const { db } = fixture.services;
  const bad = await addPicture("violet");
  let calls = 0;
  llm.answer = async (request, number) => {
    const reply = await byColour(request, number);
    if (!/violet/.test(reply.text ?? "")) return reply;
    calls += 1;
    return { status: 500, message: "model runner has unexpectedly stopped" };
  };
  for (let round = 0; round < 8; round += 1) {
    await addPicture("green");
    await passTime();
    await asked(() => describe());
  }
  expect(calls).toBe(5);
  const [row] = await db.select().from(descriptionTries).where(eq(descriptionTries.imageId, bad));
  expect(row?.tries).toBe(5);
});

const crashes: Readonly<Record<string, () => LlmReply>> = {
  "breaks the connection": () => {
    throw new Error("the simulated server ends without an answer");
  },
  "breaks its answer": () => ({ text: "A dog on a beach.", cutAfterWords: 2 }),
  "ends the runner": () => ({ status: 500, message: "model runner has unexpectedly stopped" }),
};

test.each(Object.entries(crashes))(
  "a picture alone that %s of its server each time is given up, and none is while the server is away",
  async (_name, crash) => {
    const { db } = fixture.services;
    const bad = await addPicture("violet");
    let calls = 0;
    const crashing: typeof byColour = async (request, number) => {
      const reply = await byColour(request, number);
      if (!/violet/.test(reply.text ?? "")) return reply;
      calls += 1;
      return crash();
    };
    const away = async () => crash();
    for (let round = 0; round < 14; round += 1) {
      llm.answer = round % 2 === 0 ? crashing : away;
      await passTime();
      await asked(() => describe());
    }
    expect(calls).toBe(6);
    const triesOf = async (id: string) =>
      (await db.select().from(descriptionTries).where(eq(descriptionTries.imageId, id)))[0]?.tries;
    expect(await triesOf(bad)).toBe(5);
    const good = await addPicture("green");
    llm.answer = away;
    for (let round = 0; round < 4; round += 1) {
      await passTime();
      await asked(() => describe());
    }
    expect(await triesOf(good)).toBe(0);
    llm.answer = crashing;
    await passTime();
    await describe();
    expect((await wordsOf(good))[1]).toBe("model");
  },
);

const musings = Array.from({ length: 600 }, (_, at) => `Is thing${at} a dog${at}? Hm${at}, wait${at}.`).join(
  " ",
);
const loop = "the the the ".repeat(400);
const junk: Readonly<Record<string, LlmReply>> = {
  "thinks and says nothing": { text: "<think>A red picture, I think</think>" },
  "thinks as its answer and does not come to one": { text: musings },
  "thinks aloud without an end": { text: "<think>A red picture, or is it blue? ".repeat(50) },
  refuses: { text: "I'm sorry, I can't help with that." },
  "sees no picture": { text: "Please upload the image you want me to describe." },
  "says nothing": { text: "" },
  repeats: { text: loop },
  "writes another language": { text: "一只棕色的狗在海滩上奔跑。" },
  "says what a guard says": { text: "unsafe\nS12" },
  "says what went wrong as its answer": { text: "Generation failed: Model.__call__() missing 1 argument" },
  "answers with ten megabytes": {
    raw: {
      type: "application/json",
      body: JSON.stringify({ choices: [{ message: { content: "a ".repeat(5 * 1024 ** 2) } }] }),
    },
  },
};

test.each(Object.entries(junk))(
  "a model that %s: others come first, and after some tries it is left in peace",
  async (_name, reply) => {
    const { db } = fixture.services;
    const id = await addPicture();
    let calls = 0;
    for (let round = 0; round < 7; round += 1) {
      llm.answer = () => reply;
      calls += (await askedToDescribe(() => describe())).length;
      // Without the pause of the picture nothing is asked, whatever the model's pause is.
      await db.update(turns).set({ dueAt: sql`now() - interval '1 second'` });
      calls += (await asked(() => describe())).length;
      await passTime();
    }
    expect(calls).toBe(5);
    llm.answer = byColour;
    const next = await addPicture("green");
    await describe();
    expect((await wordsOf(next))[1]).toBe("model");
    expect(await wordsOf(id)).toEqual(["", null]);
    expect(await readDescriptionFigures(fixture.services)).toMatchObject({ waiting: 1, givenUp: 1 });
    // Another model begins anew.
    const other = { ...fixture.services, env: { ...fixture.services.env, LLM_VISION_MODEL: "local/better" } };
    await describePictures(other, { signal, isRecent: false });
    expect(await wordsOf(id)).toEqual([simulated("red"), "model"]);
  },
);

test("thinking, markup and what models say around it are left out, and of a long answer its beginning is kept", async () => {
  const replies: LlmReply[] = [
    { text: "<think>Hm, a dog?</think>**A dog** on a beach." },
    // A server that keeps the opening mark for itself.
    { text: `${musings.slice(0, 4_000)}</think>A dog on a beach.` },
    { reasoning: "Hm", text: "Here is a description:\n\nA dog on a beach." },
    { text: `A dog on a beach. The sea is calm. Gulls fly. ${loop.repeat(10)}` },
  ];
  for (const reply of replies) {
    const id = await addPicture();
    llm.answer = () => reply;
    await describe();
    expect((await wordsOf(id))[0]).toMatch(/^A dog on a beach\./);
    expect((await wordsOf(id))[0]?.length).toBeLessThan(60);
  }
});

test("a model that always fails is asked less and less, and no picture is given up for a server that is away", async () => {
  const { db } = fixture.services;
  const ids = [await addPicture(), await addPicture(), await addPicture(), await addPicture()];
  llm.answer = () => ({ text: "I cannot see images." });
  expect(await asked(() => describe())).toHaveLength(3);
  expect(await asked(() => describe())).toEqual([]);
  await db.delete(turns);
  llm.answer = () => ({ status: 503, message: "Loading model" });
  for (let round = 0; round < 8; round += 1) {
    expect((await asked(() => describe())).length).toBe(1);
    await passTime();
  }
  const tries = await db.select().from(descriptionTries);
  expect(tries.map((one) => one.tries).toSorted((a, b) => a - b)).toEqual([0, 1, 1, 1]);
  expect((await readDescriptionFigures(fixture.services))?.failure).toMatchObject({ failures: 8 });
  llm.answer = byColour;
  await describe();
  expect(await Promise.all(ids.map(wordsOf))).toEqual(ids.map(() => [simulated("red"), "model"]));
  expect((await readDescriptionFigures(fixture.services))?.failure).toMatchObject({ failures: 0 });
});

test("neither a look that finds nothing nor a question of the assistant shortens the pauses of a model that fails", async () => {
  const { services } = fixture;
  const failures = async () => (await readDescriptionFigures(services))?.failure?.failures;
  const id = await addPicture();
  llm.answer = () => ({ status: 503, message: "Loading model" });
  await asked(() => describe());
  await passTime();
  await asked(() => describe());
  expect(await failures()).toBe(2);
  await services.db.update(turns).set({ dueAt: sql`now() - interval '1 second'` });
  expect(await describe({ isRecent: true })).toEqual({ described: 0, isWhole: true });
  expect(await failures()).toBe(2);
  await passTime();
  const { ended, release } = await beginHanging();
  const { runId } = await ask(services, { ownerId, text: "Hello?" });
  expect(await ended).toMatchObject({ described: 0, isWhole: false });
  release();
  await stopQuestion(services, { ownerId, id: runId });
  expect(await failures()).toBe(2);
  llm.answer = byColour;
  await describe();
  expect([await failures(), (await wordsOf(id))[1]]).toEqual([0, "model"]);
});

test("a look at new pictures leaves older ones; while one at all goes back through them, new ones come first", async () => {
  const { db } = fixture.services;
  for (let hours = 2; hours < 12; hours += 1) {
    const made = await addPicture();
    await db.delete(likenesses).where(eq(likenesses.imageId, made));
    const id = firstIdAt(Date.now() - hours * 3_600_000);
    await db.update(images).set({ id }).where(eq(images.id, made));
  }
  expect(await asked(() => describe({ isRecent: true }))).toEqual([]);
  const seen: string[] = [];
  llm.answer = async (request, number) => {
    if (seen.length === 0) await addPicture("blue");
    const reply = await byColour(request, number);
    seen.push(/red|blue/.exec(reply.text ?? "")?.[0] ?? "");
    return reply;
  };
  expect(await describe()).toEqual({ described: 11, isWhole: true });
  expect(seen.indexOf("blue")).toBe(8);
});

/** Begins a description that hangs until it is let go; the picture's id and the end of the work. */
async function beginHanging(reply: LlmReply = { text: "A dog on a beach." }) {
  const id = await addPicture();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  llm.answer = async () => {
    begin();
    await released;
    return reply;
  };
  const ended = describe();
  await begun;
  return { id, release, ended };
}

test("the owner's words win: written or emptied while the model looks", async () => {
  for (const own of ["Our dog", ""]) {
    const { id, release, ended } = await beginHanging();
    if (own === "") await changeImage(fixture.services, { ownerId, id, description: "x" });
    await changeImage(fixture.services, { ownerId, id, description: own });
    release();
    await ended;
    expect(await wordsOf(id)).toEqual([own, "owner"]);
  }
});

test("a call ends without a trace when the picture goes to the trash, is deleted for good or is not to be described", async () => {
  const { services } = fixture;
  const leave = [
    (id: string) => removeImages(services, { ownerId, ids: [id] }),
    async (id: string) => {
      await removeImages(services, { ownerId, ids: [id] });
      await purgeImages(services, [id]);
    },
    () => setDescribesPictures(services, { userId: ownerId, isOn: false }),
    () => services.db.update(users).set({ deletedAt: new Date() }).where(eq(users.id, ownerId)),
  ];
  for (const go of leave) {
    ownerId = await addUser(services);
    const { id, ended, release } = await beginHanging();
    await go(id);
    expect(await ended).toMatchObject({ described: 0, isWhole: true });
    release();
    expect((await services.db.select().from(descriptionTries)).filter((row) => row.imageId === id)).toEqual(
      [],
    );
    expect((await wordsOf(id))[0] ?? "").toBe("");
  }
});

test("a failure is kept with no picture that is deleted for good at that moment", async () => {
  const { db } = fixture.services;
  const id = await addPicture();
  const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const { noted } = await db.transaction(async (tx) => {
    await tx.delete(images).where(eq(images.id, id));
    const noting = noteTry(db, { id, model: "local/eyes", isCounted: true });
    await expect.poll(async () => db.execute(waiting)).toHaveLength(1);
    return { noted: noting };
  });
  await noted;
  const tries = await db.select().from(descriptionTries).where(eq(descriptionTries.imageId, id));
  expect(tries).toEqual([]);
});

test("a picture that comes back from the trash is described", async () => {
  const id = await addPicture();
  await removeImages(fixture.services, { ownerId, ids: [id] });
  expect(await asked(() => describe())).toEqual([]);
  await restoreImages(fixture.services, { ownerId, ids: [id] });
  await describe();
  expect((await wordsOf(id))[1]).toBe("model");
});

test("a question of the assistant goes first: it ends the call, and nothing is asked until it is answered", async () => {
  const { services } = fixture;
  const { id, ended, release } = await beginHanging();
  const { runId } = await ask(services, { ownerId, text: "Hello?" });
  expect(await ended).toMatchObject({ described: 0, isWhole: false });
  release();
  llm.answer = byColour;
  expect(await asked(() => describe())).toEqual([]);
  await stopQuestion(services, { ownerId, id: runId });
  await describe();
  expect((await wordsOf(id))[1]).toBe("model");
});

test("of two workers one asks, and a call that its process was killed in is asked again", async () => {
  const { services } = fixture;
  const { id, ended, release } = await beginHanging();
  expect(await describe()).toBeNull();
  const before = llm.requests.length;
  // The process is gone: its turn ends by its time.
  await services.db.update(turns).set({ heldUntil: sql`now() - interval '1 second'` });
  llm.answer = () => ({ text: "A cat on a sofa." });
  expect(await describe()).toMatchObject({ described: 1 });
  expect(llm.requests.length).toBe(before + 1);
  release();
  await ended;
  expect(await wordsOf(id)).toEqual(["A cat on a sofa.", "model"]);
});

test("an end of the process ends the call at once and counts nothing", async () => {
  const id = await addPicture();
  const stop = new AbortController();
  llm.answer = () => {
    stop.abort(new Error("the process stops"));
    return { delayMs: Infinity };
  };
  await expect(describe({ signal: stop.signal })).rejects.toThrow("the process stops");
  expect(
    await fixture.services.db.select().from(descriptionTries).where(eq(descriptionTries.imageId, id)),
  ).toEqual([]);
  llm.answer = byColour;
  await describe();
  expect((await wordsOf(id))[1]).toBe("model");
});

test("no picture is sent to a model that may cost, is elsewhere or is not named", async () => {
  await addPicture();
  const others = [
    { LLM_VISION_MODEL: undefined },
    { LLM_VISION_MODEL: "openai/gpt-5.6-sol", OPENAI_API_KEY: "sk" },
    { LLM_VISION_MODEL: "local/eyes", LLM_BASE_URL: "https://llm.example.com/v1" },
  ];
  for (const other of others) {
    const services = { ...fixture.services, env: { ...fixture.services.env, ...other } };
    expect(await describePictures(services, { signal, isRecent: false })).toBeNull();
  }
  expect(await fixture.services.db.select().from(modelCalls).where(eq(modelCalls.ownerId, ownerId))).toEqual(
    [],
  );
});

test("pictures whose file is missing stop no others", async () => {
  const lost = await addPicture();
  await fixture.services.db
    .update(images)
    .set({ storageKey: `lost/${lost}` })
    .where(eq(images.id, lost));
  const other = await addPicture("blue");
  await describe();
  expect([await wordsOf(lost), await wordsOf(other)]).toEqual([
    ["", null],
    [simulated("blue"), "model"],
  ]);
});
