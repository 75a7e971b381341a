import {
  createTestServices,
  emptyEditState,
  openAccount,
  openAdmin,
  openGuest,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import superjson from "superjson";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApiKey, type KeyRight, resolveCaller, revokeApiKey } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { newId } from "../../platform/index.ts";
import { appRouter, handleTrpc } from "../index.ts";

type Resource =
  | "imageId"
  | "batchId"
  | "jobId"
  | "apiKeyId"
  | "endpointId"
  | "deliveryId"
  | "conversationId"
  | "runId"
  | "proposalId"
  | "memoryId"
  | "editId"
  | "linkId"
  | "itemId"
  | "tagId"
  | "boardId"
  | "presetId";

/** What each procedure demands. A procedure that is missing here fails the first test. */
type Case =
  | { readonly access: "public"; readonly input?: unknown; readonly lacks?: number }
  /** `lacks`: needs more proof than a session, a password or a link; without it the status is this one. */
  | { readonly access: "member"; readonly input?: unknown; readonly lacks?: number }
  /** For admins; other accounts are refused with 403. */
  | { readonly access: "admin"; readonly input?: unknown }
  /** Another's id is 404 like an unknown one. */
  | { readonly access: "owned"; readonly resource: Resource; readonly input: (id: string) => unknown }
  /** Takes many ids; another's are left out of the answer like unknown ones. */
  | { readonly access: "filtered"; readonly resource: Resource; readonly input: (id: string) => unknown };

const byId = (id: string) => ({ id });
const byIds = (id: string) => ({ ids: [id] });

const cases: Readonly<Record<string, Case>> = {
  "account.me": { access: "public" },
  "account.usage": { access: "member" },
  "account.sessions": { access: "member" },
  "account.endSession": { access: "member", input: { id: newId() }, lacks: 404 },
  "account.endOtherSessions": { access: "member" },
  "account.security": { access: "member" },
  "account.confirmPassword": { access: "member", input: { password: "a wrong password" }, lacks: 403 },
  "account.renamePasskey": { access: "member", input: { id: newId(), name: "x" }, lacks: 404 },
  "account.removePasskey": { access: "member", input: { id: newId() }, lacks: 404 },
  "account.removePassword": { access: "member", lacks: 403 },
  "account.removeProvider": { access: "member", input: { id: "house" }, lacks: 404 },
  "account.addPassword": { access: "member", input: { password: "a long enough password" }, lacks: 409 },
  "account.setLocale": { access: "member", input: { locale: "de" } },
  "admin.overview": { access: "admin", input: {} },
  "admin.audit.search": { access: "admin", input: {} },
  "admin.checkup.read": { access: "admin" },
  "admin.checkup.run": { access: "admin" },
  "account.resetPassword": {
    access: "public",
    input: { token: "unknown", password: "a long enough password" },
    lacks: 404,
  },
  "account.remove": { access: "member", input: { confirm: "delete" }, lacks: 403 },
  "admin.users.list": { access: "admin", input: {} },
  "admin.users.get": { access: "admin", input: { id: newId() } },
  "admin.users.suspend": { access: "admin", input: { id: newId() } },
  "admin.users.readFactorRule": { access: "admin" },
  "admin.users.setFactorRule": { access: "admin", input: { isNeeded: false } },
  "admin.users.resetFactors": { access: "admin", input: { id: newId() } },
  "admin.users.unsuspend": { access: "admin", input: { id: newId() } },
  "admin.users.setQuota": { access: "admin", input: { id: newId(), quotaBytes: null } },
  "admin.users.setRole": { access: "admin", input: { id: newId(), role: "admin" } },
  "admin.users.createResetLink": { access: "admin", input: { id: newId() } },
  "admin.users.remove": { access: "admin", input: { id: newId(), confirm: "delete" } },
  "admin.invitations.list": { access: "admin" },
  "admin.invitations.create": { access: "admin", input: { days: 7 } },
  "admin.invitations.revoke": { access: "admin", input: { id: newId() } },
  "admin.assistant.figures": { access: "admin", input: {} },
  "admin.assistant.models": { access: "admin" },
  "admin.assistant.prompts": { access: "admin" },
  "admin.assistant.runs": { access: "admin", input: {} },
  "admin.assistant.story": { access: "admin", input: { id: "00000000-0000-7000-8000-000000000000" } },
  "admin.assistant.addPrompt": { access: "admin", input: { role: "responder", text: "Be brief." } },
  "admin.assistant.activatePrompt": { access: "admin", input: { role: "responder", version: 999 } },
  // The assembler is tried without a model.
  "admin.assistant.tryPrompt": {
    access: "admin",
    input: { role: "assembler", candidate: { text: "{memory}" }, question: "What do I like?" },
  },
  "admin.nodes.list": { access: "admin" },
  "admin.nodes.drain": { access: "admin", input: { id: newId() } },
  "admin.nodes.resume": { access: "admin", input: { id: newId() } },
  "admin.nodes.retire": { access: "admin", input: { id: newId() } },
  "admin.nodes.changeSettings": { access: "admin", input: { id: newId(), settings: {} } },
  "admin.nodes.drainServer": { access: "admin", input: { url: "http://nowhere.test" } },
  "admin.nodes.resumeServer": { access: "admin", input: { url: "http://nowhere.test" } },
  "admin.workflows.list": { access: "admin" },
  "admin.workflows.decideLicence": {
    access: "admin",
    input: { name: "Qwen Research License", isAccepted: true },
  },
  "admin.cloud.providers": { access: "admin" },
  "admin.cloud.spend": { access: "admin" },
  "admin.cloud.enable": { access: "admin", input: { provider: "fal", isEnabled: true } },
  "admin.cloud.order": { access: "admin", input: { model: "nano-banana", providers: ["fal"] } },
  "admin.cloud.caps": { access: "admin", input: { id: newId() } },
  "admin.cloud.setCaps": { access: "admin", input: { id: newId(), dailyUsd: null, monthlyUsd: null } },
  "cloud.policy": { access: "member" },
  "cloud.setPolicy": { access: "member", input: { policy: null } },
  "cloud.spend": { access: "member" },
  "cloud.attempts": { access: "owned", resource: "jobId", input: byId },
  "admin.jobs.search": { access: "admin", input: {} },
  "admin.jobs.story": { access: "admin", input: { id: newId() } },
  "admin.jobs.cancel": { access: "admin", input: { id: newId() } },
  "admin.jobs.retry": { access: "admin", input: { id: newId() } },
  "admin.jobs.setTier": { access: "admin", input: { id: newId(), tier: "high" } },
  "admin.deliveries.search": { access: "admin", input: {} },
  "admin.deliveries.attempts": { access: "admin", input: { id: newId() } },
  "admin.deliveries.redeliver": { access: "admin", input: { id: newId() } },
  "webhooks.list": { access: "member" },
  "webhooks.create": { access: "member", input: { url: null } },
  "webhooks.rotate": { access: "owned", resource: "endpointId", input: byId },
  "webhooks.enable": {
    access: "owned",
    resource: "endpointId",
    input: (id) => ({ id, isEnabled: true }),
  },
  "webhooks.test": { access: "owned", resource: "endpointId", input: byId },
  "webhooks.remove": { access: "owned", resource: "endpointId", input: byId },
  "assistant.status": { access: "member" },
  "assistant.ask": { access: "member", input: { text: "What do I like?" } },
  "assistant.stop": { access: "owned", resource: "runId", input: byId },
  "assistant.conversations": { access: "member" },
  "assistant.conversation": { access: "owned", resource: "conversationId", input: byId },
  "assistant.find": { access: "member", input: { text: "red dress" } },
  "assistant.changeConversation": {
    access: "owned",
    resource: "conversationId",
    input: (id) => ({ id, title: "Stolen", isPinned: true }),
  },
  "assistant.used": { access: "owned", resource: "runId", input: byId },
  "assistant.approve": { access: "owned", resource: "proposalId", input: byId },
  "assistant.decline": { access: "owned", resource: "proposalId", input: byId },
  "assistant.deleteConversation": { access: "owned", resource: "conversationId", input: byId },
  "memories.list": { access: "member", input: {} },
  "memories.sources": { access: "owned", resource: "memoryId", input: byId },
  "memories.add": { access: "member", input: { text: "The user likes silk." } },
  "memories.edit": {
    access: "owned",
    resource: "memoryId",
    input: (id) => ({ id, text: "The user likes wool." }),
  },
  "memories.delete": { access: "owned", resource: "memoryId", input: byId },
  "memories.export": { access: "member" },
  "memories.isPaused": { access: "member" },
  "assistant.describing": { access: "member" },
  "assistant.setDescribing": { access: "member", input: { isOn: true } },
  "admin.assistant.descriptions": { access: "admin" },
  "memories.pause": { access: "member", input: { isPaused: false } },
  "memories.forget": { access: "member", input: { confirm: "forget" } },
  "deliveries.list": { access: "member", input: {} },
  "deliveries.attempts": { access: "owned", resource: "deliveryId", input: byId },
  "deliveries.redeliver": { access: "owned", resource: "deliveryId", input: byId },
  "notifications.list": { access: "member" },
  "notifications.requestEmailCode": { access: "member", lacks: 409 },
  "notifications.confirmEmail": { access: "member", input: { code: "wrong" }, lacks: 400 },
  "notifications.set": { access: "member", input: { channel: "email", isOn: false } },
  "apiKeys.list": { access: "member" },
  "apiKeys.create": { access: "member", input: { name: "new" } },
  "apiKeys.setCap": {
    access: "owned",
    resource: "apiKeyId",
    input: (id: string) => ({ id, cap: { usd: 5, period: "month" } }),
  },
  "apiKeys.revoke": { access: "owned", resource: "apiKeyId", input: byId },
  "telegram.state": { access: "member" },
  "telegram.createLink": { access: "member", lacks: 409 },
  "telegram.unlink": { access: "member" },
  "images.list": { access: "member" },
  "images.months": { access: "member" },
  "images.get": { access: "owned", resource: "imageId", input: byId },
  "images.remove": { access: "filtered", resource: "imageId", input: byIds },
  "images.restore": { access: "filtered", resource: "imageId", input: byIds },
  "images.deleteForGood": { access: "filtered", resource: "imageId", input: byIds },
  "images.emptyTrash": { access: "member" },
  "images.star": { access: "filtered", resource: "imageId", input: (id) => ({ ids: [id], starred: true }) },
  "images.top": { access: "owned", resource: "imageId", input: (id) => ({ id, onTop: true }) },
  "images.describe": { access: "owned", resource: "imageId", input: (id) => ({ id, description: "Stolen" }) },
  "images.rename": { access: "owned", resource: "imageId", input: (id) => ({ id, title: "Stolen" }) },
  "images.date": {
    access: "filtered",
    resource: "imageId",
    input: (id) => ({ ids: [id], createdAt: "2016-07-12T10:00:00Z" }),
  },
  "images.rate": { access: "filtered", resource: "imageId", input: (id) => ({ ids: [id], rating: 1 }) },
  "images.tag": { access: "filtered", resource: "imageId", input: (id) => ({ ids: [id], name: "stolen" }) },
  "images.untag": { access: "filtered", resource: "imageId", input: (id) => ({ ids: [id], name: "mine" }) },
  "boards.list": { access: "member", input: {} },
  "boards.counts": { access: "member", input: {} },
  "boards.create": { access: "member", input: { name: "Autumn" } },
  "boards.change": { access: "owned", resource: "boardId", input: (id) => ({ id, name: "Stolen" }) },
  "boards.order": { access: "member", input: { ids: ["00000000-0000-7000-8000-000000000000"] } },
  "boards.remove": { access: "owned", resource: "boardId", input: byId },
  "boards.restore": { access: "owned", resource: "boardId", input: byId },
  "boards.add": { access: "owned", resource: "boardId", input: (id) => ({ id, imageIds: [newId()] }) },
  "boards.shared": { access: "member", input: {} },
  "boards.open": { access: "owned", resource: "boardId", input: byId },
  "boards.pictures": { access: "owned", resource: "boardId", input: byId },
  "boards.copy": { access: "owned", resource: "boardId", input: (id) => ({ id, imageId: newId() }) },
  "boards.members": { access: "owned", resource: "boardId", input: byId },
  "boards.share": {
    access: "owned",
    resource: "boardId",
    input: (id) => ({ id, email: "stranger@example.com" }),
  },
  "boards.unshare": { access: "owned", resource: "boardId", input: (id) => ({ id, userId: "nobody" }) },
  "boards.leave": { access: "owned", resource: "boardId", input: byId },
  "boards.takeOut": { access: "owned", resource: "boardId", input: (id) => ({ id, imageIds: [newId()] }) },
  "duplicates.list": { access: "member", input: {} },
  "duplicates.merge": {
    access: "owned",
    resource: "imageId",
    input: (id) => ({ keepId: id, removeIds: [newId()] }),
  },
  "duplicates.mergeAll": { access: "member", input: {} },
  "duplicates.undo": {
    access: "filtered",
    resource: "imageId",
    input: (id) => ({
      merges: [
        {
          keepId: id,
          removedIds: [id],
          tagIds: [],
          boardIds: [],
          places: [],
          before: { rating: 1, starred: true, title: "Stolen" },
          after: { rating: 0, starred: false, title: "" },
        },
      ],
    }),
  },
  "duplicates.dismiss": {
    access: "owned",
    resource: "imageId",
    input: (id) => ({ imageIds: [id, newId()] }),
  },
  "workflows.listed": { access: "member", input: { workflow: "t2i_sdxl" } },
  "assistant.improvePrompt": { access: "member", input: { prompt: "a fox" } },
  "jobs.prompts": { access: "member" },
  "presets.list": { access: "member" },
  "presets.save": {
    access: "member",
    input: { type: "list", name: "hats", content: { lines: ["cap", "beret"] } },
  },
  "presets.remove": { access: "owned", resource: "presetId", input: byId },
  "presets.restore": { access: "owned", resource: "presetId", input: byId },
  "presets.preview": { access: "member", input: { prompt: "{a|b}" } },
  "tags.list": { access: "member" },
  "tags.rename": { access: "owned", resource: "tagId", input: (id) => ({ id, name: "stolen" }) },
  "tags.remove": { access: "owned", resource: "tagId", input: byId },
  "wardrobe.list": { access: "member" },
  "wardrobe.add": {
    access: "owned",
    resource: "imageId",
    input: (id) => ({ imageId: id, what: "garment" }),
  },
  "wardrobe.importPicture": {
    access: "member",
    input: { url: "http://10.0.0.1/a.png", what: "garment" },
    lacks: 422,
  },
  "wardrobe.change": { access: "owned", resource: "itemId", input: (id) => ({ id, name: "Stolen" }) },
  "wardrobe.remove": { access: "filtered", resource: "itemId", input: byIds },
  "wardrobe.restore": { access: "filtered", resource: "itemId", input: byIds },
  "wardrobe.hasConsent": { access: "owned", resource: "imageId", input: (id) => ({ imageId: id }) },
  "wardrobe.stateConsent": { access: "owned", resource: "imageId", input: (id) => ({ imageId: id }) },
  "wardrobe.withdrawConsent": { access: "owned", resource: "imageId", input: (id) => ({ imageId: id }) },
  "edits.get": { access: "filtered", resource: "imageId", input: (id) => ({ imageId: id }) },
  "edits.save": {
    access: "owned",
    resource: "imageId",
    input: (id) => ({ imageId: id, revision: 1, writer: "this page", state: emptyEditState(id) }),
  },
  "edits.list": { access: "member" },
  "edits.remove": { access: "owned", resource: "editId", input: byId },
  "links.list": { access: "member" },
  "links.create": { access: "owned", resource: "imageId", input: (id) => ({ imageIds: [id] }) },
  "links.change": { access: "owned", resource: "linkId", input: (id) => ({ id, title: "Stolen" }) },
  "links.revoke": { access: "owned", resource: "linkId", input: byId },
  "links.restore": { access: "owned", resource: "linkId", input: byId },
  "jobs.submit": {
    access: "owned",
    resource: "imageId",
    input: (id) => ({ kind: "upscale", params: {}, inputs: { image: id } }),
  },
  "batches.submit": {
    access: "owned",
    resource: "imageId",
    input: (id) => ({ jobs: [{ kind: "upscale", inputs: { image: id } }] }),
  },
  // What is refused stands in the answer.
  "batches.estimate": {
    access: "filtered",
    resource: "imageId",
    input: (id) => ({ jobs: [{ kind: "upscale", inputs: { image: id } }] }),
  },
  "batches.list": { access: "member", input: {} },
  "batches.get": { access: "owned", resource: "batchId", input: byId },
  "batches.cancel": { access: "owned", resource: "batchId", input: byId },
  "batches.retry": { access: "owned", resource: "batchId", input: byId },
  "batches.remove": { access: "owned", resource: "batchId", input: byId },
  "batches.restore": { access: "owned", resource: "batchId", input: byId },
  "jobs.list": { access: "member", input: {} },
  "jobs.get": { access: "owned", resource: "jobId", input: byId },
  "jobs.cancel": { access: "owned", resource: "jobId", input: byId },
  "jobs.cancelWaiting": { access: "member" },
  "jobs.retry": { access: "owned", resource: "jobId", input: byId },
  "jobs.capabilities": { access: "public" },
  "jobs.estimate": {
    access: "owned",
    resource: "imageId",
    input: (id) => ({ kind: "upscale", params: {}, inputs: { image: id } }),
  },
  "jobs.waiting": { access: "member" },
  "jobs.moveInLine": { access: "owned", resource: "jobId", input: (id) => ({ id, before: null }) },
  "workflows.list": { access: "public" },
  "jobs.recentInputs": { access: "member", input: { role: "person" } },
  "jobs.watch": { access: "member" },
};

const procedures = Object.entries(
  appRouter._def.procedures as unknown as Record<string, { _def: { type: string } }>,
).map(([path, { _def }]) => ({ path, type: _def.type }));

let fixture: TestServices;
let owner: TestOwner &
  Readonly<Record<"batchId" | "linkId" | "itemId" | "tagId" | "boardId" | "presetId", string>>;
let stranger: Headers;
/** Ended, banned and expired credentials. */
let revoked: Headers[];
/** A guest, a demoted admin by session and by key, and an account that never was admin. */
let members: Headers[];
/** An admin by session and by API key. */
let admins: Headers[];
/** An admin's keys: with all rights but one, without the right to look, and with that alone. */
let chosen: Headers[];

beforeAll(async () => {
  fixture = await createTestServices();
  const { services } = fixture;
  const [batchId, linkId, itemId] = [newId(), newId(), newId()];
  const [tagId, boardId, presetId] = [newId(), newId(), newId()];
  owner = {
    ...(await openOwner(services, "owner@example.com", openAdmin)),
    batchId,
    linkId,
    itemId,
    tagId,
    boardId,
    presetId,
  };
  const { userId: ownerId } = owner.caller;
  await services.db.insert(schema.batches).values({ id: batchId, ownerId, size: 1 });
  await services.db.insert(schema.links).values({ id: linkId, ownerId, tokenHash: "hash" });
  const item = { id: itemId, ownerId, imageId: owner.imageId, what: "garment" as const, tags: [] };
  await services.db.insert(schema.wardrobeItems).values(item);
  await services.db.insert(schema.boards).values({ id: boardId, ownerId, name: "mine", key: "mine" });
  await services.db
    .insert(schema.presets)
    .values({ id: presetId, ownerId, type: "list", name: "mine", key: "mine", content: { lines: ["a"] } });
  await services.db.insert(schema.tags).values({ id: tagId, ownerId, name: "mine", key: "mine" });
  stranger = (await openAccount(services, "stranger@example.com")).headers;
  const ended = await openAccount(services, "ended@example.com");
  const endedHeaders = new Headers(ended.headers);
  const userId = (await resolveCaller(services, endedHeaders))?.userId ?? "";
  const key = await createApiKey(services, { userId, name: "revoked" });
  await revokeApiKey(services, { userId, id: key.id });
  await ended.auth("/revoke-sessions");
  const { db } = services;
  const { users, apiKeys } = schema;
  const bearer = (value: string) => new Headers({ authorization: `Bearer ${value}` });
  const openKeyedAdmin = async (name: string) => {
    const { headers } = await openAccount(services, `${name}@example.com`);
    const id = (await resolveCaller(services, headers))?.userId ?? "";
    await db.update(users).set({ role: "admin" }).where(eq(users.id, id));
    return { id, headers, made: await createApiKey(services, { userId: id, name }) };
  };
  const banned = await openKeyedAdmin("banned");
  await db.update(users).set({ banned: true }).where(eq(users.id, banned.id));
  const demoted = await openKeyedAdmin("demoted");
  const expired = await createApiKey(services, { userId: demoted.id, name: "expired" });
  await db.update(users).set({ role: "user" }).where(eq(users.id, demoted.id));
  await db
    .update(apiKeys)
    .set({ expiresAt: new Date(0) })
    .where(eq(apiKeys.id, expired.id));
  revoked = [endedHeaders, bearer(key.key), banned.headers, bearer(banned.made.key), bearer(expired.key)];
  const guest = await openGuest(services);
  members = [guest.headers, demoted.headers, bearer(demoted.made.key), stranger];
  admins = [owner.browser.headers, bearer(owner.apiKey)];
  const keyWith = async (...rights: KeyRight[]) =>
    bearer((await createApiKey(services, { userId: owner.caller.userId, name: "chosen", rights })).key);
  chosen = [
    await keyWith("read", "create", "spend", "admin"),
    await keyWith("create", "spend", "admin", "metrics"),
    await keyWith("read"),
  ];
});
afterAll(() => fixture.close());

const inputOf = (known: Case, id: string) => ("resource" in known ? known.input(id) : known.input);

/** tRPC opens every stream with 200; a refusal is its first event, because browsers hide the status of event streams. */
async function firstEvent(response: Response): Promise<{ status: number; body: string }> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!/^data: .*"(json|type)":.*$/m.test(text)) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  const refused = /event: serialized-error\ndata: (.*"httpStatus":(\d+).*)/.exec(text);
  return refused
    ? { status: Number(refused[2]), body: refused[1] ?? "" }
    : { status: response.status, body: "" };
}

async function call(path: string, input: unknown, headers: Headers) {
  const type = procedures.find((procedure) => procedure.path === path)?.type;
  const wire = JSON.stringify(superjson.serialize(input));
  // Answers name their request, and are compared.
  const same = { "x-request-id": "same" };
  const all = { ...Object.fromEntries(headers), ...same, host: new URL(testOrigin).host };
  const url = `${testOrigin}/api/trpc/${path}`;
  const stop = new AbortController();
  const request =
    type === "mutation"
      ? new Request(url, {
          method: "POST",
          body: wire,
          headers: { ...all, "content-type": "application/json", origin: testOrigin },
        })
      : new Request(`${url}?input=${encodeURIComponent(wire)}`, { headers: all, signal: stop.signal });
  const response = await handleTrpc(fixture.services, request);
  if (type !== "subscription") return { status: response.status, body: await response.text() };
  const first = await firstEvent(response);
  stop.abort();
  return first;
}

test("S1 every procedure has a declared case, and every case a procedure", () => {
  expect(Object.keys(cases).toSorted()).toEqual(procedures.map(({ path }) => path).toSorted());
});

const known = Object.entries(cases).map(([path, how]) => ({ path, how }));
const guarded = known.filter(({ how }) => how.access !== "public");
const withResource = known.flatMap(({ path, how }) => ("resource" in how ? [{ path, how }] : []));
const open = known.filter(({ how }) => how.access === "member" || how.access === "public");

test.each(guarded)("S1 $path refuses callers without valid credentials", async ({ path, how }) => {
  const bodies = new Set<string>();
  for (const headers of [new Headers(), ...revoked]) {
    const answer = await call(path, inputOf(how, newId()), headers);
    expect(answer.status).toBe(401);
    bodies.add(answer.body);
  }
  expect(bodies.size).toBe(1);
  expect([...bodies][0]).toContain('"appCode":"unauthorized"');
});

const callByRights = ({ path, how }: (typeof known)[number]) =>
  Promise.all(chosen.map(async (headers) => (await call(path, inputOf(how, newId()), headers)).status));

const isOf = (wanted: string) => (each: { readonly path: string }) =>
  procedures.some(({ path, type }) => path === each.path && type === wanted);

test.each(known.filter(isOf("mutation")))("S1 $path is refused to a key with chosen rights", async (each) => {
  expect(await callByRights(each)).toEqual([403, 403, 403]);
});

test.each(known.filter(isOf("query")).filter(({ how }) => how.access === "admin"))(
  "S1 $path is open to a key with the rights to look and of an admin together",
  async (each) => {
    const [both, ...others] = await callByRights(each);
    expect(both).not.toBe(403);
    expect(others).toEqual([403, 403]);
  },
);

test.each(withResource)("S1 $path answers another's id like an unknown one", async ({ path, how }) => {
  const ask = async (id: string) => {
    const { status, body } = await call(path, how.input(id), stranger);
    // Repeating what the caller sent tells nothing.
    return { status, body: body.replaceAll(id, "<id>") };
  };
  const foreign = await ask(owner[how.resource]);
  expect(foreign).toEqual(await ask(newId()));
  expect(foreign.status).toBe(how.access === "owned" ? 404 : 200);
});

const forAdmins = known.filter(({ how }) => how.access === "admin");

test.each(forAdmins)(
  "S1 $path refuses a guest, a demoted admin and an account, and reaches an admin",
  async ({ path, how }) => {
    for (const headers of members) {
      const refused = await call(path, inputOf(how, ""), headers);
      expect(refused.status).toBe(403);
      expect(refused.body).toContain('"appCode":"forbidden"');
    }
    // The things that the inputs name do not exist.
    for (const headers of admins)
      expect([200, 404]).toContain((await call(path, inputOf(how, ""), headers)).status);
  },
);

test.each(open)("S1 $path answers an account", async ({ path, how }) => {
  const lacks = "lacks" in how ? how.lacks : undefined;
  expect((await call(path, inputOf(how, ""), stranger)).status).toBe(lacks ?? 200);
});

/** Owned, but what they answer depends on the state of the thing; their own tests cover it. */
const dependsOnState = new Set([
  "boards.leave",
  // Beside the one of the owner it names none.
  "duplicates.merge",
  "duplicates.dismiss",
  "boards.copy",
  "jobs.retry",
  "batches.retry",
  "jobs.moveInLine",
  "apiKeys.revoke",
  // Of what was approved nothing is declined.
  "assistant.decline",
]);

test("the owner reaches what others cannot", async () => {
  for (const { path, how } of known) {
    if (how.access !== "owned" || dependsOnState.has(path)) continue;
    const answer = await call(path, how.input(owner[how.resource]), owner.browser.headers);
    expect([path, answer.status]).toEqual([path, 200]);
  }
});

test.each([
  [5, 207],
  [6, 400],
] as const)("of %i mutations in one request the status is %i", async (count, status) => {
  const paths = Array.from({ length: count }, () => "images.restore").join(",");
  const none = superjson.serialize({ ids: [newId()] });
  const body = JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [at, none])));
  const headers = { ...Object.fromEntries(owner.browser.headers), host: new URL(testOrigin).host };
  const request = new Request(`${testOrigin}/api/trpc/${paths}?batch=1`, {
    method: "POST",
    body,
    headers: { ...headers, "content-type": "application/json", origin: testOrigin },
  });
  const answer = await handleTrpc(fixture.services, request);
  expect(answer.status === 200 ? 207 : answer.status).toBe(status);
});
