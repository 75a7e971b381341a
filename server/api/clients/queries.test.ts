import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApiKey, type KeyRight } from "../../accounts/index.ts";
import { mayQuestionsCost } from "../../assistant/index.ts";
import { schema } from "../../db/index.ts";
import { type ClientScene, openClientScene } from "./fixtures/scene.ts";

const { assistantMessages, assistantRuns, clientUsers } = schema;

let scene: ClientScene;
beforeAll(async () => void (scene = await openClientScene({ EXISTING_CLIENTS: "0" })));
afterAll(() => scene.close());

async function post(body: unknown, key = scene.owner.key) {
  const response = await scene.send("/api/query", {
    method: "POST",
    key,
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { http: response.status, json: (await response.json()) as Record<string, unknown> };
}

async function readStatus(id: unknown, key = scene.owner.key) {
  const response = await scene.send(`/api/query/${String(id)}/status`, { key });
  return { http: response.status, json: (await response.json()) as Record<string, unknown> };
}

/** Ends a run as a worker would have. */
async function end(id: unknown, ended: Partial<Omit<typeof assistantRuns.$inferInsert, "revision">>) {
  const set = { endedAt: new Date(), revision: sql`${assistantRuns.revision} + 1`, ...ended };
  await scene.services.db
    .update(assistantRuns)
    .set(set)
    .where(eq(assistantRuns.id, String(id)));
}

async function ownerOf(id: unknown) {
  const [run] = await scene.services.db
    .select()
    .from(assistantRuns)
    .where(eq(assistantRuns.id, String(id)));
  return run;
}

test("B7 a question is accepted as processing and its answer is had by polling", async () => {
  const { http, json } = await post({ user_id: "ann", query: "  What do I like?  " });
  expect({ http, json }).toEqual({
    http: 202,
    json: { request_id: expect.any(String), status: "processing" },
  });
  const id = json["request_id"];
  for (const status of ["new", "analyzing", "analyzed", "assembling", "ready", "responding"] as const) {
    await end(id, { status, endedAt: null, answer: status === "responding" ? "Lin" : "" });
    expect(await readStatus(id)).toEqual({ http: 200, json: { status: "processing" } });
  }
  await end(id, { status: "completed", answer: "Linen." });
  expect(await readStatus(id)).toEqual({ http: 200, json: { status: "completed", answer: "Linen." } });
  const [message] = await scene.services.db
    .select()
    .from(assistantMessages)
    .where(eq(assistantMessages.runId, String(id)));
  expect(message).toMatchObject({ ownerId: scene.owner.id, text: "What do I like?", role: "user" });
});

test("B7 B9 a failed run shows what the user may read", async () => {
  const { json } = await post({ query: "Why?" });
  await end(json["request_id"], {
    status: "failed",
    errorCode: "timeout",
    errorMessage: "The model did not answer in time.",
  });
  expect(await readStatus(json["request_id"])).toEqual({
    http: 200,
    json: { status: "failed", error: "The model did not answer in time." },
  });
});

test("B7 a conversation goes on by its id; while it is answered a second question is refused", async () => {
  const first = await post({ query: "One?" });
  const run = await ownerOf(first.json["request_id"]);
  const conversation = { conversation_id: run?.conversationId };
  expect(await post({ query: "Two?", ...conversation })).toMatchObject({
    http: 409,
    json: { code: "conflict" },
  });
  await end(first.json["request_id"], { status: "completed", answer: "1" });
  const second = await post({ query: "Two?", ...conversation });
  expect(await ownerOf(second.json["request_id"])).toMatchObject({ conversationId: run?.conversationId });
  expect((await post({ query: "Three?", ...conversation }, scene.stranger.key)).http).toBe(404);
  expect((await post({ query: "Four?", conversation_id: "nowhere" })).http).toBe(404);
});

test("B7 S1 runs of others are unknown, also to admins", async () => {
  const { json } = await post({ query: "Mine?" });
  const id = json["request_id"];
  for (const { key } of [scene.stranger, scene.admin])
    expect(await readStatus(id, key)).toMatchObject({ http: 404, json: { code: "not_found" } });
  for (const wrong of ["x", "00000000-0000-7000-8000-000000000000"])
    expect((await readStatus(wrong)).http).toBe(404);
});

test("B7 A16 an admin's key asks and reads for the user that it names", async () => {
  const { key } = scene.admin;
  const { json } = await post({ user_id: 42, query: "Whose?" }, key);
  const id = json["request_id"];
  const [named] = await scene.services.db.select().from(clientUsers).where(eq(clientUsers.name, "42"));
  expect(await ownerOf(id)).toMatchObject({ ownerId: named?.userId });
  expect((await readStatus(id, key)).json).toEqual({ status: "processing" });
  expect((await readStatus(id)).http).toBe(404);
});

test("B7 wrong bodies are refused with a reason", async () => {
  const wrong = [{}, { query: "" }, { query: "  " }, { query: 7 }, { query: "x".repeat(8_001) }, "[", "[]"];
  for (const body of [...wrong, { query: "a", user_id: "a/b" }, { query: "a", conversation_id: 7 }])
    expect(await post(body)).toMatchObject({ http: 400, json: { code: "bad_request" } });
});

test("S1 a key without the right to spend asks nothing of which any stage may cost", async () => {
  const { env, config } = scene.services;
  const keyOf = async ({ services, owner }: ClientScene, rights: readonly KeyRight[]) =>
    (await createApiKey(services, { userId: owner.id, name: "chosen", rights })).key;
  expect(await post({ query: "Free?" }, await keyOf(scene, ["read", "create"]))).toMatchObject({ http: 202 });
  const home = { LLM_BASE_URL: "http://127.0.0.1:9/v1", LLM_RESPONDER_MODEL: "small" };
  const free = { ...env, ...home };
  expect(mayQuestionsCost({ config, env: free })).toBe(false);
  const key = { OPENAI_API_KEY: "none" };
  expect(mayQuestionsCost({ config, env: { ...free, ...key } })).toBe(true);
  const stages = { LLM_ANALYZER_MODEL: "small", LLM_ARCHIVIST_MODEL: "small" };
  expect(mayQuestionsCost({ config, env: { ...free, ...key, ...stages } })).toBe(false);
  for (const paid of ["LLM_ANALYZER_MODEL", "LLM_ARCHIVIST_MODEL", "LLM_EMBEDDING_MODEL"])
    expect(mayQuestionsCost({ config, env: { ...free, ...key, ...stages, [paid]: "openai/any" } })).toBe(
      true,
    );
  const dear = await openClientScene({ EXISTING_CLIENTS: "0", ...home, ...key });
  try {
    const send = async (rights: readonly KeyRight[]) => {
      const body = JSON.stringify({ query: "Dear?" });
      const headers = { "content-type": "application/json" };
      return dear.send("/api/query", { method: "POST", key: await keyOf(dear, rights), headers, body });
    };
    const refused = await send(["read", "create"]);
    expect([refused.status, await refused.json()]).toMatchObject([403, { code: "forbidden" }]);
    expect((await send(["read", "create", "spend"])).status).toBe(202);
  } finally {
    await dear.close();
  }
});
