import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { addImage, addJob, insertJob, until } from "@atelier/testing/jobs";
import {
  createTestServices,
  openAccount,
  openAdmin,
  openGuest,
  type TestServices,
} from "@atelier/testing/services";
import { eq } from "drizzle-orm";
import { io, type Socket } from "socket.io-client";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { createApiKey, endSession, resolveCaller, revokeApiKey } from "../../accounts/index.ts";
import { schema } from "../../db/index.ts";
import { cancel } from "../../jobs/index.ts";
import { streamLimits } from "../../live/index.ts";
import { openTaskUpdates, type TaskUpdates } from "./index.ts";

const waiting = { timeout: 10_000, interval: 20 };

let fixture: TestServices;
let server: Server;
let updates: TaskUpdates;
const opened: Socket[] = [];

async function account(open: typeof openAccount, email: string) {
  const { headers } = await open(fixture.services, email);
  const userId = (await resolveCaller(fixture.services, headers))?.userId ?? "";
  const imageId = await addImage(fixture.services, userId);
  const key = await createApiKey(fixture.services, { userId, name: "test" });
  return { headers, userId, imageId, key, isGuest: false as const };
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
  updates = openTaskUpdates(fixture.services);
  server = createServer((request, response) => updates.request(request, response));
  server.on("upgrade", (request, socket, head) => updates.upgrade(request, socket, head));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
const { recheckMs } = streamLimits;
afterEach(() => {
  streamLimits.recheckMs = recheckMs;
  for (const socket of opened.splice(0)) socket.close();
});
afterAll(async () => {
  await updates.close();
  server.close();
  await fixture.close();
});

const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const bearer = ({ key }: Account) => ({ authorization: `Bearer ${key.key}` });

interface Listener {
  readonly socket: Socket;
  readonly heard: Record<string, unknown>[];
  /** Null once connected, or why not. */
  readonly refusal: string | null;
}

async function listen(
  extraHeaders: Record<string, string>,
  { transports = ["polling", "websocket"], query = {} } = {},
): Promise<Listener> {
  const socket = io(origin(), { extraHeaders, transports, query, forceNew: true, reconnection: false });
  opened.push(socket);
  const heard: Record<string, unknown>[] = [];
  socket.on("task_update", (task: Record<string, unknown>) => heard.push(task));
  const refusal = await new Promise<string | null>((resolve) => {
    socket.once("connect", () => resolve(null));
    socket.once("connect_error", (error) => resolve(error.message));
  });
  return { socket, heard, refusal };
}

test.each([{ transports: ["polling"] }, { transports: ["websocket"] }, {}])(
  "D7 a program that listens by socket.io is told of each change of its jobs, and of no other's: %o",
  async (how) => {
    const { services } = fixture;
    const first = await insertJob(services, { owner });
    const own = await listen(bearer(owner), how);
    const foreign = await listen(bearer(stranger), how);
    expect([own.refusal, foreign.refusal]).toEqual([null, null]);
    await vi.waitFor(
      () => expect(own.heard).toContainEqual(expect.objectContaining({ task_id: first, status: "pending" })),
      waiting,
    );
    const id = await addJob(services, { owner });
    await vi.waitFor(
      () => expect(own.heard).toContainEqual(expect.objectContaining({ task_id: id, progress: 0 })),
      waiting,
    );
    await cancel(services, { ownerId: owner.userId, id });
    await until(services, id, "cancelled");
    const cancelled = { task_id: id, status: "cancelled", progress: 0, message: "The job was cancelled." };
    await vi.waitFor(() => expect(own.heard).toContainEqual(cancelled), waiting);
    expect(foreign.heard).toEqual([]);
  },
);

test("D7 a program that connects again is first told of what ended meanwhile", async () => {
  const id = await addJob(fixture.services, { owner: stranger });
  await cancel(fixture.services, { ownerId: stranger.userId, id });
  const { heard } = await listen(bearer(stranger));
  await vi.waitFor(
    () => expect(heard).toEqual([expect.objectContaining({ task_id: id, status: "cancelled" })]),
    waiting,
  );
});

test("who may listen: a key, or a session from a page of the studio; no guest, no other site", async () => {
  const guest = await openGuest(fixture.services);
  const cookie = (headers: Headers) => ({ cookie: headers.get("cookie") ?? "" });
  const refusals: Record<string, string>[] = [
    {},
    { authorization: "Bearer nonsense" },
    cookie(owner.headers),
    { ...cookie(owner.headers), origin: "https://evil.example" },
    { ...bearer(owner), origin: "https://evil.example" },
    { ...cookie(guest.headers), origin: "http://localhost:3000" },
  ];
  for (const headers of refusals)
    for (const transports of [["polling"], ["websocket"]])
      expect([headers, (await listen(headers, { transports })).refusal]).toEqual([
        headers,
        expect.any(String),
      ]);
  expect((await listen({ ...cookie(owner.headers), origin: origin() })).refusal).toBeNull();
});

test("a user has at most ten connections, and one that ends gives its place back", async () => {
  const all = await Promise.all(Array.from({ length: 10 }, () => listen(bearer(admin))));
  expect(all.map(({ refusal }) => refusal)).toEqual(Array.from({ length: 10 }, () => null));
  expect((await listen(bearer(admin))).refusal).toEqual(expect.any(String));
  all[0]?.socket.close();
  await vi.waitFor(async () => expect((await listen(bearer(admin))).refusal).toBeNull(), waiting);
});

test("S5 a user who is suspended keeps no connection", async () => {
  const suspended = await account(openAccount, "soon@example.com");
  const { socket } = await listen(bearer(suspended));
  const ended = new Promise<string>((resolve) => socket.once("disconnect", resolve));
  await fixture.services.db
    .update(schema.users)
    .set({ banned: true })
    .where(eq(schema.users.id, suspended.userId));
  expect(await ended).toMatch(/transport/);
  expect((await listen(bearer(suspended))).refusal).toEqual(expect.any(String));
});

test("S1 a key that is revoked and a session that ended hear no more", async () => {
  const { services } = fixture;
  streamLimits.recheckMs = 0;
  const leaving = await account(openAccount, "leaving@example.com");
  const kept = await createApiKey(services, { userId: leaving.userId, name: "kept" });
  const cookie = leaving.headers.get("cookie") ?? "";
  const [byKey, bySession, other] = [
    await listen(bearer(leaving)),
    await listen({ cookie, origin: origin() }),
    await listen({ authorization: `Bearer ${kept.key}` }),
  ];
  expect([byKey.refusal, bySession.refusal, other.refusal]).toEqual([null, null, null]);
  const ends = [byKey, bySession].map(
    ({ socket }) => new Promise<string>((resolve) => socket.once("disconnect", resolve)),
  );
  await revokeApiKey(services, { userId: leaving.userId, id: leaving.key.id });
  const { sessionId = "" } = (await resolveCaller(services, leaving.headers)) ?? {};
  await endSession(services, { userId: leaving.userId, id: sessionId });
  const id = await addJob(services, { owner: leaving });
  await vi.waitFor(
    () => expect(other.heard).toContainEqual(expect.objectContaining({ task_id: id })),
    waiting,
  );
  for (const ended of await Promise.all(ends)) expect(ended).toMatch(/transport/);
  for (const { heard } of [byKey, bySession])
    expect(heard).not.toContainEqual(expect.objectContaining({ task_id: id }));
});

test("a client of the third protocol is served; what is too long ends the connection", async () => {
  const old = await fetch(`${origin()}/socket.io/?EIO=3&transport=polling`, { headers: bearer(owner) });
  expect([old.status, await old.text()]).toEqual([200, expect.stringMatching(/"sid":/)]);
  const { socket } = await listen(bearer(owner), { transports: ["websocket"] });
  const ended = new Promise<string>((resolve) => socket.once("disconnect", resolve));
  socket.emit("subscribe", "x".repeat(5_000));
  expect(await ended).toMatch(/transport/);
});
