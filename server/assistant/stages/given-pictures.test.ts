// @module-tag all
import { addNode } from "@atelier/testing/jobs";
import {
  describeByColour,
  type LlmReply,
  type LlmRequest,
  pictureRefusals,
  picturesOf,
  startLlm,
  textOf,
} from "@atelier/testing/llm";
import { addUser } from "@atelier/testing/pictures";
import { captureLog, createTestServices, type TestServices } from "@atelier/testing/services";
import { asc, eq } from "drizzle-orm";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { schema } from "../../db/index.ts";
import { ingest, purgeImages, removeImages } from "../../images/index.ts";
import { newId, useProxies } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { ask } from "../ask.ts";
import { pictureRecipient } from "../given.ts";
import { capture, completeQuestion, endStage, leaseOf, stageAt } from "../life.ts";
import { listModelNotes } from "../model-notes.ts";
import { readClientQuestion, readConversation } from "../read.ts";
import { pictureTokens } from "./given-pictures.ts";
import { analyze, assemble, respond } from "./index.ts";
import { hasPicture, takesNoPictures } from "./model-errors.ts";

const { assistantMessages, images, modelCalls, modelNotes } = schema;
const llm = await startLlm();
let fixture: TestServices;
let services: Services;
let nodeId = "";
let ownerId = "";
const { log, lines } = captureLog();
beforeAll(async () => {
  const env = { ...llm.env, LLM_VISION_MODEL: "local/simulated" };
  fixture = await createTestServices({ env, config: { assistant: { retryDelayS: 0.01 } } });
  services = { ...fixture.services, log };
  nodeId = await addNode(services, { queue: "any", needs: [] });
});
afterAll(async () => {
  await fixture.close();
  await llm.close();
});

const isAboutColour = (request: LlmRequest) =>
  /Which colour/.test(textOf(request.messages[0] ?? { role: "user" }));
const isAnalysis = ({ messages: [first] }: LlmRequest) =>
  first !== undefined && /You prepare the work/.test(textOf(first));
const noAnalysis = {
  needsContext: false,
  contextType: "none",
  timeScope: null,
  searchKeywords: [],
  contextFound: [],
};
/** A model that sees, and says this. */
const saying =
  (say: (request: LlmRequest) => LlmReply | Promise<LlmReply>) =>
  async (request: LlmRequest): Promise<LlmReply> => {
    if (isAnalysis(request)) return { text: JSON.stringify(noAnalysis) };
    if (!isAboutColour(request)) return say(request);
    const [sent] = picturesOf(request);
    return { text: sent ? await describeByColour(sent) : "" };
  };
const fine: LlmReply = { text: "A picture." };
beforeEach(async () => {
  await services.db.delete(modelNotes);
  ownerId = await addUser(services);
  llm.answer = saying(() => fine);
});

interface Size {
  readonly width: number;
  readonly height: number;
}
async function addPicture(background = "#dc1e1e", size: Size = { width: 1_600, height: 800 }) {
  const bytes = await sharp({ create: { ...size, channels: 3, background } })
    .withExif({ IFD0: { Copyright: "Ann Example" } })
    .jpeg()
    .toBuffer();
  const { id } = await ingest(services, { ownerId, role: "upload", bytes, name: "Sea.jpg", apart: newId() });
  return id;
}

interface Asking {
  readonly imageIds?: readonly string[];
  readonly imagesTo?: string;
  readonly conversationId?: string;
}
/** A question on its way through all stages, and the requests that its answer took. */
async function askAll(text: string, asking: Asking = {}, on = services) {
  const from = llm.requests.length;
  const signal = new AbortController().signal;
  const { imageIds = [], ...more } = asking;
  const { runId, conversationId } = await ask(on, { ownerId, text, imageIds: [...imageIds], ...more });
  for (const at of ["new", "analyzed", "ready"] as const) {
    const stage = stageAt(at);
    const run = stage && (await capture(on, { runId, stage, nodeId }));
    if (!run) throw new Error(`nothing to do at ${at}`);
    const lease = leaseOf(run);
    if (at === "new") await endStage(on, lease, { stage, set: { analysis: await analyze(on, run, signal) } });
    else if (at === "analyzed")
      await endStage(on, lease, { stage, set: { context: await assemble(on, run) } });
    else await completeQuestion(on, lease, await respond(on, run, { signal, stop: signal }));
  }
  const view = await readClientQuestion(on, { userId: ownerId, isAdmin: false }, runId);
  const requests = llm.requests.slice(from).filter((one) => !isAnalysis(one) && !isAboutColour(one));
  const calls = await on.db
    .select()
    .from(modelCalls)
    .where(eq(modelCalls.runId, runId))
    .orderBy(asc(modelCalls.startedAt));
  return { runId, conversationId, view, requests, calls: calls.filter(({ stage }) => stage === "responder") };
}

const toOwn = { imagesTo: "own" };
const lastOf = (request: LlmRequest | undefined) => textOf(request?.messages.at(-1) ?? { role: "user" });

test("the model is shown small pictures without metadata, in their order and with what is known of them", async () => {
  const imageIds = [await addPicture(), await addPicture("#283cd2", { width: 300, height: 400 })];
  await services.db.update(images).set({ title: "The sea", description: "SECRET", describedBy: "model" });
  const { view, requests, conversationId } = await askAll("What is it?", { imageIds, ...toOwn });
  expect(view).toMatchObject({ status: "completed", answer: "A picture.", parts: [] });
  expect(requests).toHaveLength(1);
  const sent = requests.flatMap(picturesOf);
  expect(await Promise.all(sent.map(describeByColour))).toEqual([
    "A SIMULATED description of a mostly red picture, 1024 by 512.",
    "A SIMULATED description of a mostly blue picture, 300 by 400.",
  ]);
  const facts = await Promise.all(sent.map(({ bytes }) => sharp(bytes).metadata()));
  expect(facts.map(({ format, exif, icc, xmp }) => [format, exif, icc, xmp])).toEqual(
    sent.map(() => ["jpeg", undefined, undefined, undefined]),
  );
  expect(lastOf(requests[0])).toMatch(/^What is it\?\n\nPictures .*"title":"The sea","widthPx":1600/s);
  expect(lastOf(requests[0])).toContain(imageIds[1]);
  expect(JSON.stringify(requests)).not.toContain("SECRET");
  const talk = await readConversation(services, { ownerId, id: conversationId });
  expect(talk.turns[0]?.pictures).toMatchObject(imageIds.map((id) => ({ id, state: "there" })));
  expect(talk.turns[0]?.run?.pictures).toEqual(talk.turns[0]?.pictures);
  // Its words may come from the pictures.
  const said = await services.db
    .select()
    .from(assistantMessages)
    .where(eq(assistantMessages.ownerId, ownerId));
  expect(said.map(({ role, isRecalled }) => [role, isRecalled])).toEqual([
    ["user", true],
    ["assistant", false],
  ]);
  const stored = await services.db.select().from(schema.assistantRuns);
  const base64 = sent[0]?.bytes.toString("base64").slice(0, 200) ?? "none";
  expect(JSON.stringify(stored)).not.toContain(base64);
});

test("a question has own pictures that are there, at most four, and is the same only with the same ones", async () => {
  const [first, second] = [await addPicture(), await addPicture("#283cd2")];
  const other = await addUser(services);
  const asked = (imageIds: string[], idempotencyKey = newId(), asker = ownerId) =>
    ask(services, { ownerId: asker, text: "What is it?", imageIds, idempotencyKey });
  await expect(asked([first], newId(), other)).rejects.toMatchObject({ code: "not_found" });
  await expect(asked([newId()])).rejects.toMatchObject({ code: "not_found" });
  const { askSchema } = await import("../ask.ts");
  const ids = Array.from({ length: 5 }, () => newId());
  expect(askSchema.safeParse({ text: "?", imageIds: ids }).success).toBe(false);
  expect(askSchema.safeParse({ text: "?", imagesTo: "o\0wn" }).success).toBe(false);
  expect(askSchema.parse({ text: "?", imageIds: [first, first.toUpperCase()] }).imageIds).toEqual([first]);
  const key = newId();
  const begun = await asked([first], key);
  await expect(asked([second], key)).rejects.toMatchObject({ code: "idempotency_mismatch" });
  await removeImages(services, { ownerId, ids: [first] });
  expect(await asked([first], key)).toEqual(begun);
  await expect(asked([first])).rejects.toMatchObject({ code: "not_found" });
});

test("a deleted picture is told as deleted and a purged one as gone, and neither is sent", async () => {
  const imageIds = [await addPicture(), await addPicture("#283cd2"), await addPicture("#1ea03c")];
  const [, trashed = "", purged = ""] = imageIds;
  const { conversationId } = await askAll("What is it?", { imageIds, ...toOwn });
  await removeImages(services, { ownerId, ids: [trashed, purged] });
  await purgeImages(services, [purged]);
  const { requests } = await askAll("And now?", { conversationId });
  expect(await Promise.all(requests.flatMap(picturesOf).map(describeByColour))).toEqual([
    expect.stringContaining("red"),
  ]);
  const asked = requests[0]?.messages.map(textOf).find((text) => text.startsWith("What is it?"));
  expect(asked).toContain(JSON.stringify({ id: trashed, deleted: true }));
  expect(asked).toContain(JSON.stringify({ id: purged, deleted: true }));
  const { turns } = await readConversation(services, { ownerId, id: conversationId });
  expect(turns[0]?.pictures.map(({ state }) => state)).toEqual(["there", "trashed", "gone"]);
});

test("a store that is away keeps no question from its answer, and the model is told that it sees nothing", async () => {
  const imageIds = [await addPicture()];
  const open = vi.spyOn(services.disk, "open").mockRejectedValue(new Error("connect ECONNREFUSED"));
  onTestFinished(() => open.mockRestore());
  const { view, requests, conversationId } = await askAll("What is it?", { imageIds, ...toOwn });
  expect(view).toMatchObject({ status: "completed", parts: [{ type: "unseen" }] });
  expect(requests.flatMap(picturesOf)).toEqual([]);
  expect(lastOf(requests[0])).toContain("You cannot see them");
  const next = await askAll("And now?", { conversationId });
  expect(next.view).toMatchObject({ status: "completed" });
  expect(JSON.stringify(next.requests)).not.toContain("as attached");
  open.mockRestore();
  const later = await askAll("And later?", { conversationId });
  expect(later.requests.flatMap(picturesOf)).toHaveLength(1);
});

test("of several pictures the model is told which ones it does not see", async () => {
  const imageIds = [await addPicture(), await addPicture("#283cd2"), await addPicture("#1ea03c")];
  const [unread = ""] = imageIds;
  const [stored] = await services.db.select().from(images).where(eq(images.id, unread));
  const open = services.disk.open.bind(services.disk);
  const opening = vi
    .spyOn(services.disk, "open")
    .mockImplementation((key) =>
      key.startsWith(`${stored?.storageKey}/`)
        ? Promise.reject(new Error("connect ECONNREFUSED"))
        : open(key),
    );
  onTestFinished(() => opening.mockRestore());
  const { view, requests } = await askAll("What are they?", { imageIds, ...toOwn });
  expect(view).toMatchObject({ parts: [{ type: "unseen" }] });
  expect(requests.flatMap(picturesOf)).toHaveLength(2);
  expect(lastOf(requests[0])).toMatch(new RegExp(`Not attached, .*: ${unread}$`));
  opening.mockRestore();
  const next = await askAll("All of them?", { imageIds, ...toOwn });
  expect(lastOf(next.requests[0])).not.toContain("Not attached");
});

test("the pictures of the two questions before are shown again, older ones are not", async () => {
  const imageIds = [await addPicture()];
  const first = await askAll("What is it?", { imageIds, ...toOwn });
  const more = { conversationId: first.conversationId };
  const counts: number[] = [];
  for (const text of ["Second?", "Third?", "Fourth?"])
    counts.push((await askAll(text, more)).requests.flatMap(picturesOf).length);
  expect(counts).toEqual([1, 1, 0]);
});

test.each([
  ["the person was told of nobody", {}, {}],
  ["the person was told of another one", { imagesTo: "anthropic" }, {}],
  ["the admin turned it off", toOwn, { takesPictures: [] }],
])("nobody is shown pictures where %s", async (_, told, settings) => {
  const { config } = services;
  const on = { ...services, config: { ...config, assistant: { ...config.assistant, ...settings } } };
  const { view, requests } = await askAll("What is it?", { imageIds: [await addPicture()], ...told }, on);
  expect(requests.flatMap(picturesOf)).toEqual([]);
  expect(lastOf(requests[0])).toMatch(/You cannot see them.*"widthPx":1600/s);
  expect(view).toMatchObject({ status: "completed", parts: [{ type: "unseen", at: 0 }] });
});

test.each(Object.entries(pictureRefusals))(
  "%s refuses pictures: asked once more without, and without from then on",
  async (_, refusal) => {
    llm.answer = saying((request) => (picturesOf(request).length > 0 ? refusal : fine));
    const imageIds = [await addPicture()];
    const { view, requests, calls } = await askAll("What is it?", { imageIds, ...toOwn });
    expect(view).toMatchObject({ status: "completed", answer: "A picture.", parts: [{ type: "unseen" }] });
    expect(requests.map((one) => picturesOf(one).length)).toEqual([1, 0]);
    expect(calls.map(({ errorClass, costUsd }) => [errorClass, costUsd])).toEqual([
      ["no_pictures", 0],
      [null, 0],
    ]);
    expect(await listModelNotes(services)).toMatchObject([{ refused: ["pictures"] }]);
    expect(await pictureRecipient(services)).toBeNull();
    const next = await askAll("What is it?", { imageIds, ...toOwn });
    expect(next.requests.map((one) => picturesOf(one).length)).toEqual([0]);
  },
);

test("a picture that is refused for itself is left out of this answer alone", async () => {
  const refusal = { status: 400, message: "Could not process image" };
  llm.answer = saying((request) => (picturesOf(request).length > 0 ? refusal : fine));
  const { view } = await askAll("What is it?", { imageIds: [await addPicture()], ...toOwn });
  expect(view).toMatchObject({ status: "completed", parts: [{ type: "unseen" }] });
  expect(await pictureRecipient(services)).toBe("own");
});

test("a model that takes no instructions of the system is shown the pictures all the same", async () => {
  const hasSystem = ({ messages }: LlmRequest) => messages.some(({ role }) => role === "system");
  llm.answer = saying((request) =>
    hasSystem(request) ? { status: 400, message: "System role not supported" } : fine,
  );
  const { view, requests } = await askAll("What is it?", { imageIds: [await addPicture()], ...toOwn });
  expect(view).toMatchObject({ status: "completed", parts: [] });
  expect(requests.map((one) => picturesOf(one).length)).toEqual([1, 1]);
  expect(lastOf(requests[1])).toMatch(/^You are the assistant .*What is it\?/s);
});

test("a key that is refused is no matter of the pictures", async () => {
  llm.answer = saying(() => ({ status: 401, message: "Incorrect API key provided" }));
  const imageIds = [await addPicture()];
  const from = llm.requests.length;
  const asking = askAll("What is it?", { imageIds, ...toOwn });
  await expect(asking).rejects.toMatchObject({ class: "refused" });
  expect(
    llm.requests.slice(from).filter((one) => picturesOf(one).length === 0 && !isAnalysis(one)),
  ).toHaveLength(0);
});

test("a server at home that leaves pictures out is found out before it makes something up", async () => {
  llm.answer = (request) => ({ text: isAnalysis(request) ? JSON.stringify(noAnalysis) : "A lovely garden." });
  const env = { ...services.env, LLM_RESPONDER_MODEL: "local/blind", LLM_VISION_MODEL: "local/blind" };
  const on = { ...services, env };
  const { view, requests } = await askAll("What is it?", { imageIds: [await addPicture()], ...toOwn }, on);
  expect(requests.flatMap(picturesOf)).toEqual([]);
  expect(view.parts).toMatchObject([{ type: "unseen" }]);
  expect(await pictureRecipient(on)).toBeNull();
});

test("what is too long is asked with fewer pictures, in the end with none", async () => {
  const first = await askAll("What is it?", { imageIds: [await addPicture()], ...toOwn });
  llm.answer = saying((request) =>
    picturesOf(request).length > 0 ? { status: 400, message: "context length exceeded" } : fine,
  );
  const more = { conversationId: first.conversationId, imageIds: [await addPicture("#283cd2")], ...toOwn };
  const { view, requests } = await askAll("And this?", more);
  expect(requests.map((one) => picturesOf(one).length)).toEqual([2, 1, 0]);
  expect(view).toMatchObject({ status: "completed", parts: [{ type: "unseen" }] });
});

test.each([
  ["openai", { OPENAI_BASE_URL: "https://Gate.example.org:8443/v1" }, "gate.example.org"],
  ["openai", { OPENAI_BASE_URL: "https://api.openai.com/v1/" }, "openai"],
  ["openai", { OPENAI_BASE_URL: "http://192.168.1.20:4000/v1" }, "openai"],
  ["anthropic", { ANTHROPIC_BASE_URL: "http://127.0.0.1:4000" }, "anthropic"],
  ["local", { LLM_BASE_URL: "http://192.168.1.20:4000/v1" }, "own"],
  ["openai", { OPENAI_BASE_URL: "no address" }, "openai"],
  ["openai", { ANTHROPIC_BASE_URL: "https://gate.example.org" }, "openai"],
  ["anthropic", { ANTHROPIC_BASE_URL: "https://gate.example.org" }, "gate.example.org"],
  ["anthropic", { ANTHROPIC_BASE_URL: "https://api.anthropic.com" }, "anthropic"],
  ["google", {}, "google"],
])("pictures for %s with %o are told as seen by %s", async (host, addresses, to) => {
  const { config } = services;
  const names = { LLM_RESPONDER_MODEL: `${host}/sim`, LLM_VISION_MODEL: undefined };
  const key = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GOOGLE_GENERATIVE_AI_API_KEY: "k" };
  const assistant = { ...config.assistant, takesPictures: [`${host}/`] };
  const env = { ...services.env, ...names, ...key, ...addresses };
  expect(await pictureRecipient({ ...services, env, config: { ...config, assistant } })).toBe(to);
});

test("E4 the price that is reserved holds for the pictures, those of earlier questions too", async () => {
  useProxies({ HTTP_PROXY: llm.url, ALLOWED_PRIVATE_HOSTS: [] });
  onTestFinished(() => useProxies({ ALLOWED_PRIVATE_HOSTS: [] }));
  const env = { ...services.env, LLM_BASE_URL: "http://models.example/v1", LLM_VISION_MODEL: undefined };
  const price = { inputUsd: 1, outputUsd: 0 };
  const { config } = services;
  const assistant = { ...config.assistant, prices: { "local/": price }, takesPictures: ["local/sim"] };
  const on = { ...services, env, config: { ...config, assistant } };
  await services.db.insert(schema.spendingCaps).values({ userId: ownerId, dailyUsd: 100, monthlyUsd: 100 });
  expect(await pictureRecipient(on)).toBe("models.example");
  const bound = pictureTokens("local/simulated", { width: 1_024, height: 512 });
  const to = { imagesTo: "models.example" };
  const imageIds = [await addPicture(), await addPicture("#283cd2")];
  const first = await askAll("What is it?", { imageIds, ...to }, on);
  expect(first.requests.flatMap(picturesOf)).toHaveLength(2);
  expect((first.calls[0]?.expectedUsd ?? 0) * 1e6).toBeGreaterThan(bound * 2);
  const second = await askAll("And now?", { conversationId: first.conversationId }, on);
  expect((second.calls[0]?.expectedUsd ?? 0) * 1e6).toBeGreaterThan(bound * 2);
  const other = await askAll("Nothing to see.", {}, on);
  expect((other.calls[0]?.expectedUsd ?? 0) * 1e6).toBeLessThan(bound);
});

test.each([
  // By the rules of the vendors, worked out by hand.
  ["anthropic/claude-sonnet-5-5", 1_024, 1_024, 1_600],
  ["openai/gpt-4o", 1_024, 1_024, 2_520],
  ["openai/gpt-4o", 1_024, 512, 1_260],
  ["openai/gpt-4o", 1_024, 128, 85 + 170 * 24],
  ["openai/gpt-4o-mini", 1_024, 1_024, 2_833 + 5_667 * 4],
  ["google/gemini-3.8-flash", 1_024, 1_024, 1_120],
  ["google/gemini-3.8-flash", 1_024, 384, 258 * 8],
  ["local/any", 1_024, 1_024, 2_833 + 5_667 * 4],
])("%s counts a picture of %i by %i px at most %i tokens", (model, width, height, most) => {
  expect(pictureTokens(model, { width, height })).toBe(most);
  expect(pictureTokens(model, { width: height, height: width })).toBe(most);
});

test.each([
  [
    "OpenAI",
    { input: [{ role: "user", content: [{ type: "input_image" }] }] },
    "Invalid input: input_image is not supported with this model.",
  ],
  [
    "Anthropic",
    { messages: [{ role: "user", content: [{ type: "image" }] }] },
    "'claude-old' does not support image input.",
  ],
  [
    "Google",
    { contents: [{ parts: [{ inlineData: {} }] }] },
    "Image input modality is not enabled for models/gemma",
  ],
])("a refusal of %s is known as one of pictures", (_, body, words) => {
  expect([hasPicture(body), takesNoPictures(words)]).toEqual([true, true]);
});

test("no log line has a picture", () => {
  expect(lines.length).toBeGreaterThan(10);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(4_000);
  expect(lines.filter((line) => /base64|\/9j\//.test(line))).toEqual([]);
});
