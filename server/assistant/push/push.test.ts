import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createTestServices,
  openAccount,
  openAdmin,
  openGuest,
  testOrigin,
  type TestServices,
} from "@atelier/testing/services";
import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { actAs, createApiKey, resolveCaller, revokeApiKey } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { streamLimits } from "../../live/index.ts";
import { ask } from "../ask.ts";
import { isPushRequest, openPush, type Push } from "./index.ts";

const { assistantRuns } = schema;
const waiting = { timeout: 10_000, interval: 20 };

let fixture: TestServices;
let server: Server;
let push: Push;
const opened: WebSocket[] = [];

async function account(open: typeof openAccount, email: string) {
  const { headers } = await open(fixture.services, email);
  const id = (await resolveCaller(fixture.services, headers))?.userId ?? "";
  return { headers, ...(await createApiKey(fixture.services, { userId: id, name: "test" })), id };
}
type Account = Awaited<ReturnType<typeof account>>;
let owner: Account;
let stranger: Account;
let admin: Account;

beforeAll(async () => {
  fixture = await createTestServices();
  owner = await account(openAccount, "owner@example.com");
  stranger = await account(openAccount, "stranger@example.com");
  admin = await account(openAdmin, "admin@example.com");
  push = openPush(fixture.services, { credentials: "key_or_session" });
  server = createServer().listen(0, "127.0.0.1");
  server.on("upgrade", (request, socket, head) => push.upgrade(request, socket, head));
  await once(server, "listening");
});
const { recheckMs } = streamLimits;
afterEach(() => {
  streamLimits.recheckMs = recheckMs;
  for (const socket of opened.splice(0)) socket.terminate();
});
afterAll(async () => {
  await push.close();
  server.close();
  await fixture.close();
});

interface Connection {
  readonly socket: WebSocket;
  readonly messages: Record<string, unknown>[];
  /** 101, or the status of the refusal. */
  readonly status: number;
  readonly closed: Promise<number>;
}

async function connect(
  headers: ClientOptions["headers"],
  protocols: string[] = [],
  query = "",
): Promise<Connection> {
  const { port } = server.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/ws${query}`, protocols, { headers });
  opened.push(socket);
  const messages: Record<string, unknown>[] = [];
  socket.on("message", (data: Buffer) => messages.push(JSON.parse(data.toString())));
  socket.on("error", () => undefined);
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  const status = await new Promise<number>((resolve) => {
    socket.once("open", () => resolve(101));
    socket.once("unexpected-response", (_, { statusCode }) => {
      socket.terminate();
      resolve(statusCode ?? 0);
    });
  });
  return { socket, messages, status, closed };
}

const bearer = ({ key }: Account) => ({ authorization: `Bearer ${key}` });

async function end(
  runId: string,
  set: Partial<Pick<typeof assistantRuns.$inferInsert, "answer" | "errorMessage">>,
) {
  const failed = set.answer === undefined;
  await fixture.services.db
    .update(assistantRuns)
    .set({
      ...set,
      status: failed ? "failed" : "completed",
      ...(failed ? { errorCode: "timeout" } : {}),
      endedAt: new Date(),
      revision: sql`${assistantRuns.revision} + 1`,
    })
    .where(eq(assistantRuns.id, runId));
}

test("B7 the answer to a question is pushed once to its user alone, failures with their reason", async () => {
  const [own, foreign] = [await connect(bearer(owner)), await connect(bearer(stranger))];
  expect([own.status, foreign.status]).toEqual([101, 101]);
  const first = await ask(fixture.services, { ownerId: owner.id, text: "What do I like?" });
  const second = await ask(fixture.services, { ownerId: owner.id, text: "And what not?" });
  await end(first.runId, { answer: "Linen." });
  await vi.waitUntil(() => own.messages.length > 0, waiting);
  expect(own.messages).toEqual([{ request_id: first.runId, status: "completed", answer: "Linen." }]);
  await end(second.runId, { errorMessage: "The model did not answer in time." });
  await vi.waitUntil(() => own.messages.length > 1, waiting);
  expect(own.messages.slice(1)).toEqual([
    { request_id: second.runId, status: "failed", error: "The model did not answer in time." },
  ]);
  const third = await ask(fixture.services, { ownerId: stranger.id, text: "Mine?" });
  await end(third.runId, { answer: "Yours." });
  await vi.waitUntil(() => foreign.messages.length > 0, waiting);
  expect(foreign.messages.map(({ request_id: id }) => id)).toEqual([third.runId]);
  expect(own.messages).toHaveLength(2);
});

test("B7 a new connection is sent what ended while there was none", async () => {
  const { runId } = await ask(fixture.services, { ownerId: owner.id, text: "Missed?" });
  await end(runId, { answer: "No." });
  const { messages } = await connect(bearer(owner));
  await vi.waitUntil(() => messages.length > 0, waiting);
  expect(messages).toContainEqual({ request_id: runId, status: "completed", answer: "No." });
});

test("B7 S1 nothing is opened without a valid key, nor with one in the address", async () => {
  const refused = [
    await connect({}),
    await connect({ authorization: `Bearer ${owner.key}x` }),
    await connect({}, [], `?key=${owner.key}`),
    await connect({}, ["atelier", "bearer.nonsense"]),
  ];
  expect(refused.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
});

test("B7 S1 a page of another site opens nothing, a page of the studio does by its session", async () => {
  const cookie = owner.headers.get("cookie") ?? "";
  const { host } = new URL(testOrigin);
  const statuses = [
    await connect({ cookie, host, origin: testOrigin }),
    await connect({ cookie, host, origin: "https://evil.example" }),
    await connect({ cookie, host }),
    await connect({ ...bearer(owner), host, origin: "https://evil.example" }),
  ].map(({ status }) => status);
  expect(statuses).toEqual([101, 403, 403, 403]);
});

test("B7 a browser of the studio sends its key as a subprotocol, which is not sent back", async () => {
  const { socket, status } = await connect({}, ["atelier", `bearer.${owner.key}`]);
  expect([status, socket.protocol]).toEqual([101, "atelier"]);
});

test("B7 A16 an admin's key is sent the runs of the user that it names", async () => {
  const { userId } = await actAs(fixture.services, "ann");
  const { messages, status } = await connect(bearer(admin), [], "?user_id=ann");
  expect(status).toBe(101);
  const { runId } = await ask(fixture.services, { ownerId: userId, text: "Whose?" });
  await end(runId, { answer: "Ann's." });
  await vi.waitUntil(() => messages.length > 0, waiting);
  expect(messages).toEqual([{ request_id: runId, status: "completed", answer: "Ann's." }]);
  expect((await connect(bearer(admin), [], "?user_id=nobody")).status).toBe(404);
});

test("B7 S5 long messages end the connection, and a user has a limited number of them", async () => {
  const long = await connect(bearer(owner));
  long.socket.send("x".repeat(2_000));
  expect(await long.closed).toBe(1009);
  const many = await Promise.all(Array.from({ length: 11 }, () => connect(bearer(stranger))));
  expect(many.filter(({ status }) => status === 101)).toHaveLength(10);
  expect(many.filter(({ status }) => status === 429)).toHaveLength(1);
  many.find(({ status }) => status === 101)?.socket.terminate();
  await vi.waitUntil(async () => (await connect(bearer(stranger))).status === 101, waiting);
});

test("B7 C3 when the process stops, connections end with 1001 and no new one is opened", async () => {
  const other = openPush(fixture.services, { credentials: "key" });
  const { closed } = await (async () => {
    const before = push;
    push = other;
    const connection = await connect(bearer(owner));
    push = before;
    return connection;
  })();
  await other.close();
  expect(await closed).toBe(1001);
});

test("B7 S5 a guest gets no connection, and a user who is suspended or deleted keeps none", async () => {
  const { services } = fixture;
  const { users } = schema;
  const guest = await openGuest(services);
  const asGuest = { ...Object.fromEntries(guest.headers), origin: testOrigin };
  expect((await connect(asGuest)).status).toBe(403);
  const gone = await account(openAccount, "gone@example.com");
  const chief = await account(openAdmin, "chief@example.com");
  const { userId: named } = await actAs(services, "bea");
  const [byKey, bySession, forNamed, ofChief] = await Promise.all([
    connect(bearer(gone)),
    connect({ ...Object.fromEntries(gone.headers), origin: testOrigin }),
    connect(bearer(admin), [], "?user_id=bea"),
    connect(bearer(chief), [], "?user_id=ann"),
  ]);
  const opened = [byKey, bySession, forNamed, ofChief];
  expect(opened.map(({ status }) => status)).toEqual([101, 101, 101, 101]);
  const bystander = await connect(bearer(owner));
  const startedAtMs = performance.now();
  for (const id of [gone.id, named, chief.id])
    await services.db.update(users).set({ banned: true }).where(eq(users.id, id));
  expect(await Promise.all(opened.map(({ closed }) => closed))).toEqual([1008, 1008, 1008, 1008]);
  // The look comes once a second; without it the streams end at the next check of the caller, after half a minute.
  expect(performance.now() - startedAtMs).toBeLessThan(25_000);
  expect(bystander.socket.readyState).toBe(WebSocket.OPEN);
  expect((await connect(bearer(gone))).status).toBe(401);
});

test("B7 S5 a named user who is suspended keeps no connection, whichever look at the user comes first", async () => {
  const { services } = fixture;
  // Its streams end, and their owner is asked for again, before the look that comes once a second.
  const env = { ...services.env, FUNCTION_SECONDS: 1 };
  const short = openPush({ ...services, env }, { credentials: "key_or_session" });
  const own = createServer().listen(0, "127.0.0.1");
  own.on("upgrade", (request, socket, head) => short.upgrade(request, socket, head));
  await once(own, "listening");
  const { userId } = await actAs(services, "dora");
  const { port } = own.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/ws?user_id=dora`, { headers: bearer(admin) });
  await once(socket, "open");
  const closed = once(socket, "close");
  await services.db.update(schema.users).set({ banned: true }).where(eq(schema.users.id, userId));
  expect((await closed)[0]).toBe(1008);
  await short.close();
  own.close();
});

test("B7 only the path of the sockets is theirs", () => {
  const urls = ["/api/ws", "/api/ws?user_id=a", "/api/wss", "/_next/webpack-hmr", "/"];
  expect(urls.map((url) => isPushRequest({ url }))).toEqual([true, true, false, false, false]);
});

test("B7 S1 a revoked key opens nothing", async () => {
  const { id, key } = await createApiKey(fixture.services, { userId: owner.id, name: "gone" });
  await revokeApiKey(fixture.services, { userId: owner.id, id });
  expect((await connect({ authorization: `Bearer ${key}` })).status).toBe(401);
});

test("B7 S1 a key that is revoked hears no more, and one whose owner is no admin any more nothing of others", async () => {
  const { services } = fixture;
  expect(recheckMs).toBeLessThanOrEqual(30_000);
  streamLimits.recheckMs = 0;
  const former = await account(openAdmin, "former@example.com");
  const { userId: named } = await actAs(services, "eve");
  const gone = await createApiKey(services, { userId: owner.id, name: "gone" });
  const [revoked, kept, demoted] = [
    await connect({ authorization: `Bearer ${gone.key}` }),
    await connect(bearer(owner)),
    await connect(bearer(former), [], "?user_id=eve"),
  ];
  expect([revoked.status, kept.status, demoted.status]).toEqual([101, 101, 101]);
  await revokeApiKey(services, { userId: owner.id, id: gone.id });
  await services.db.update(schema.users).set({ role: "user" }).where(eq(schema.users.id, former.id));
  const askAndEnd = async (ownerId: string) => {
    const { runId } = await ask(services, { ownerId, text: "Who hears it?" });
    await end(runId, { answer: "Who may." });
    return runId;
  };
  const [ofOwner, ofNamed] = [await askAndEnd(owner.id), await askAndEnd(named)];
  const idsOf = ({ messages }: Connection) => messages.map(({ request_id: id }) => id);
  await vi.waitUntil(() => idsOf(kept).includes(ofOwner), waiting);
  expect(await revoked.closed).toBe(1008);
  expect(idsOf(revoked)).not.toContain(ofOwner);
  const ofFormer = await askAndEnd(former.id);
  await vi.waitUntil(() => idsOf(demoted).includes(ofFormer), { ...waiting, timeout: 30_000 });
  expect(idsOf(demoted)).not.toContain(ofNamed);
});
