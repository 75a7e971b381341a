import {
  createTestServices,
  openAccount,
  openOwner,
  testOrigin,
  type TestOwner,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import type { Hono } from "hono";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApiKey, type KeyRight, resolveCaller, revokeApiKey } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { newId } from "../../platform/index.ts";
import { iopaintApi } from "../clients/iopaint.ts";
import { createHttpApp } from "../index.ts";
import type { HttpRoute } from "./route.ts";
import { httpRoutes, patternOf } from "./app.ts";

/** What a route needs beside its path. A route that is missing here fails the first test. */
interface Case {
  readonly body?: unknown;
}

const cases: Readonly<Record<string, Case>> = {
  createUpload: {},
  identifyPicture: {},
  beginUpload: { body: { mime: "image/png", sizeBytes: 10 } },
  sendUpload: {},
  finishUpload: {},
  giveUpUpload: {},
  listImages: {},
  getImage: {},
  getImageByHash: {},
  changeImage: { body: { rating: 3 } },
  listTags: {},
  listDuplicates: {},
  mergeDuplicates: { body: { keepId: newId(), removeIds: [newId()] } },
  undoMerge: {
    body: {
      keepId: newId(),
      removedIds: [newId()],
      tagIds: [],
      boardIds: [],
      places: [],
      before: { rating: 0, starred: false, title: "" },
      after: { rating: 0, starred: false, title: "" },
    },
  },
  dismissDuplicates: { body: { imageIds: [newId(), newId()] } },
  listBoards: {},
  createBoard: { body: { name: "Autumn" } },
  getBoard: {},
  changeBoard: { body: { name: "Winter" } },
  changeBoardImages: { body: { add: [newId()] } },
  removeBoard: {},
  listSharedBoards: {},
  listBoardMembers: {},
  shareBoard: { body: { email: "stranger@example.com" } },
  unshareBoard: {},
  listBoardImages: {},
  getBoardImageFile: {},
  copyBoardImage: {},
  restoreImage: {},
  deleteImage: {},
  withdrawConsent: {},
  getImageFile: {},
  submitBatch: { body: { jobs: [{ kind: "text_to_image", params: { prompt: "a cup" } }] } },
  estimateBatch: { body: { jobs: [{ kind: "text_to_image", params: { prompt: "a cup" } }] } },
  listBatches: {},
  getBatch: {},
  cancelBatch: {},
  retryBatch: {},
  streamBatchEvents: {},
  getBatchZip: {},
  getBatchSheet: {},
  getImagesZip: {},
  submitJob: { body: { kind: "text_to_image", params: { prompt: "a cup" } } },
  listJobs: {},
  estimateJob: { body: { kind: "text_to_image", params: { prompt: "a cup" } } },
  getJob: {},
  cancelJob: {},
  retryJob: {},
  ackJob: {},
  streamJobEvents: {},
  getJobBundle: {},
  createLink: { body: { imageIds: [newId()] } },
  listLinks: {},
  getLink: {},
  revokeLink: {},
  listWebhooks: {},
  createWebhook: { body: { url: null } },
  rotateWebhook: {},
  testWebhook: {},
  deleteWebhook: {},
  listDeliveries: {},
  redeliver: {},
  listWorkflows: {},
  listWorkflowChoices: {},
  exportAccount: {},
  getOwnKey: {},
  getScaling: {},
  listAudit: {},
  exportAudit: {},
};

let fixture: TestServices;
let app: Hono;
let owner: TestOwner;
const batchId = newId();
const linkId = newId();
const boardId = newId();
let strangerKey: string;
/** Of the owner's keys: one that only looks, and one that only makes. */
let lookingKey: string;
let makingKey: string;
/** Ended, banned and expired credentials. */
let revoked: Headers[];

beforeAll(async () => {
  fixture = await createTestServices();
  const { services } = fixture;
  app = createHttpApp(services);
  owner = await openOwner(services, "owner@example.com");
  const { userId: ownerId } = owner.caller;
  await services.db.insert(schema.batches).values({ id: batchId, ownerId, size: 1 });
  await services.db.insert(schema.links).values({ id: linkId, ownerId, tokenHash: "hash" });
  await services.db.insert(schema.boards).values({ id: boardId, ownerId, name: "mine", key: "mine" });
  await services.db.insert(schema.boardImages).values({ boardId, imageId: owner.imageId });
  await services.db.insert(schema.batchJobs).values({ batchId, position: 0, jobId: owner.jobId });
  const stranger = await openAccount(services, "stranger@example.com");
  const strangerId = (await resolveCaller(services, stranger.headers))?.userId ?? "";
  strangerKey = (await createApiKey(services, { userId: strangerId, name: "stranger" })).key;
  const keyWith = (right: KeyRight) =>
    createApiKey(services, { userId: ownerId, name: right, rights: [right] });
  lookingKey = (await keyWith("read")).key;
  makingKey = (await keyWith("create")).key;
  const gone = await createApiKey(services, { userId: strangerId, name: "revoked" });
  await revokeApiKey(services, { userId: strangerId, id: gone.id });
  const ended = new Headers(stranger.headers);
  await stranger.auth("/revoke-sessions");
  const { apiKeys, users } = schema;
  const expired = await createApiKey(services, { userId: strangerId, name: "expired" });
  await services.db
    .update(apiKeys)
    .set({ expiresAt: new Date(0) })
    .where(eq(apiKeys.id, expired.id));
  const banned = await openAccount(services, "banned@example.com");
  const bannedId = (await resolveCaller(services, banned.headers))?.userId ?? "";
  const bannedKey = await createApiKey(services, { userId: bannedId, name: "banned" });
  await services.db.update(users).set({ banned: true }).where(eq(users.id, bannedId));
  revoked = [ended, banned.headers, ...[gone, expired, bannedKey].map(({ key }) => bearer(key))];
});
afterAll(() => fixture.close());

const bearer = (key: string) => new Headers({ authorization: `Bearer ${key}` });

async function call(
  route: Pick<HttpRoute, "operationId" | "path"> & { method: string },
  id: string,
  headers: Headers,
) {
  const { body } = cases[route.operationId] ?? {};
  const path = route.path
    .replace("{id}", id)
    .replace("{imageId}", owner.imageId)
    .replace("{userId}", "nobody")
    .replace("{sessionId}", "nobody")
    .replace("{sha256}", "0".repeat(64))
    .replace("{name}", "t2i_sdxl");
  const url = `${testOrigin}/api/v1${path}`;
  const all = new Headers(headers);
  // Answers name their request, and are compared.
  all.set("x-request-id", "same");
  if (body !== undefined) all.set("content-type", "application/json");
  const request = new Request(url, {
    method: route.method.toUpperCase(),
    headers: all,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const response = await app.fetch(request);
  if (response.ok) {
    await response.body?.cancel();
    return { status: response.status, body: "", type: "" };
  }
  return {
    status: response.status,
    body: await response.text(),
    type: response.headers.get("content-type"),
  };
}

test("S1 every route has a declared case, and every case a route", () => {
  expect(Object.keys(cases).toSorted()).toEqual(httpRoutes.map(({ operationId }) => operationId).toSorted());
});

test("S1 every route with an id in its path says what the id names, and nothing is served beside the table", () => {
  for (const route of httpRoutes) expect(route.path.includes("{id}")).toBe(route.resource !== undefined);
  const served = app.routes
    .filter(({ method, path }) => method !== "ALL" && !/\/(openapi\.json|docs|docs\/:file)$/.test(path))
    .map(({ method, path }) => `${method} ${path}`);
  const declared = httpRoutes.map((route) => `${route.method.toUpperCase()} /api/v1${patternOf(route)}`);
  // The access tests of `clients` call these.
  const ofIopaint = iopaintApi.routes.map(({ method, path }) => `${method.toUpperCase()} /api/v1${path}`);
  expect(served.toSorted()).toEqual([...declared, ...ofIopaint].toSorted());
});

const named = httpRoutes.map((route) => ({ route, name: route.operationId }));
const withId = named.filter(({ route }) => route.resource !== undefined);
const own = ({ resource }: HttpRoute) =>
  ({
    job: owner.jobId,
    batch: batchId,
    link: linkId,
    board: boardId,
    image: owner.imageId,
    upload: owner.uploadId,
    webhook: owner.endpointId,
    delivery: owner.deliveryId,
  })[resource ?? "job"];

test.each(named)("S1 $name refuses callers without valid credentials", async ({ route }) => {
  const { keys = [], others = [] } = Object.groupBy([new Headers(), ...revoked], (headers) =>
    headers.has("authorization") ? "keys" : "others",
  );
  // Why a key or a session does not work is nobody's business.
  for (const alike of [keys, others]) {
    const answers = [];
    for (const headers of alike) answers.push(await call(route, newId(), headers));
    expect(answers).toHaveLength(3);
    for (const answer of answers) {
      expect(answer).toEqual(answers[0]);
      expect(answer).toMatchObject({ status: 401, type: "application/problem+json" });
      expect(JSON.parse(answer.body)).toMatchObject({ code: "unauthorized", status: 401 });
    }
  }
});

test.each(named)("S1 $name refuses a key without the right that it needs", async ({ route }) => {
  const lacking = route.method === "get" ? makingKey : lookingKey;
  const answer = await call(route, route.resource ? own(route) : newId(), bearer(lacking));
  expect(answer.status).toBe(403);
  const right = route.right ?? (route.method === "get" ? "read" : "create");
  expect(JSON.parse(answer.body)).toMatchObject({
    code: "forbidden",
    detail: `This API key lacks the right "${right}".`,
  });
});

test.each(withId)(
  "S1 $name answers another's id like an unknown one, and a malformed one like no address",
  async ({ route }) => {
    const foreign = await call(route, own(route), bearer(strangerKey));
    expect(foreign.status).toBe(404);
    expect(await call(route, newId(), bearer(strangerKey))).toEqual(foreign);
    const nowhere = await call({ ...route, path: "/nowhere" }, newId(), bearer(strangerKey));
    expect(nowhere.status).toBe(404);
    expect(await call(route, "not-an-id", bearer(strangerKey))).toEqual(nowhere);
  },
);

test.each(named.filter(({ route }) => route.method === "get"))(
  "S1 HEAD of $name refuses what GET refuses",
  async ({ route }) => {
    for (const headers of [new Headers(), ...revoked])
      expect(await call({ ...route, method: "head" }, newId(), headers)).toMatchObject({
        status: 401,
        body: "",
      });
    const ofOthers = route.resource
      ? await call({ ...route, method: "head" }, own(route), bearer(strangerKey))
      : { status: 404, body: "" };
    expect(ofOthers).toMatchObject({ status: 404, body: "" });
  },
);

test.each(withId.filter(({ route }) => route.method === "get"))(
  "S1 $name answers the owner",
  async ({ route }) => {
    for (const key of [owner.apiKey, lookingKey])
      expect((await call(route, own(route), bearer(key))).status).toBe(200);
  },
);

test("S1 routes for admins refuse other accounts with 403, by session and by any key", async () => {
  const forAdmins = named.filter(({ route }) => route.right === "admin");
  expect(forAdmins.map(({ name }) => name)).toEqual(["listAudit", "exportAudit"]);
  for (const { route } of forAdmins)
    for (const key of [owner.apiKey, strangerKey, lookingKey])
      expect(await call(route, "", bearer(key))).toMatchObject({ status: 403 });
});
