import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { createApiKey } from "@atelier/server/accounts";
import { addSpeaker, ask } from "@atelier/server/assistant";
import { createTestServices, type TestServices } from "@atelier/testing/services";
import { startWeb } from "@atelier/testing/web";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inAll } from "@atelier/testing/cases";
import { waitUntil } from "../process/tools.ts";

let fixture: TestServices;
let web: ChildProcess;
let host = "";

beforeAll(async () => {
  fixture = await createTestServices();
  ({ child: web, at: host } = await startWeb(fixture.services));
});
afterAll(async () => {
  web.kill("SIGKILL");
  await fixture.close();
});

async function openSocket(key: string) {
  const socket = new WebSocket(`ws://${host}/api/ws`, ["atelier", `bearer.${key}`]);
  const message = new Promise<unknown>((resolve, reject) => {
    socket.addEventListener("message", ({ data }) => resolve(JSON.parse(String(data))));
    socket.addEventListener("error", () => reject(new Error("the socket failed")));
  });
  const closed = new Promise<number>((resolve) =>
    socket.addEventListener("close", ({ code }) => resolve(code)),
  );
  return { message, closed };
}

interface Knock {
  readonly line: string;
  readonly headers?: string;
  /** The client ends its side at once, or never does. */
  readonly ends?: boolean;
  readonly status: RegExp;
}

const webSocket = "Connection: Upgrade\r\nUpgrade: websocket";
const withKey = `${webSocket}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==`;
const knocks: Knock[] = [
  ...["/x", "/", "/API/ws", "/api/ws%2f", "/api/ws/..", "/api/wsx", "/api/health"].map((path) => ({
    line: `GET ${path}`,
    status: /^404/,
  })),
  // With a slash too many it is still the assistant's.
  ...["/api/ws/", "//api/ws"].map((path) => ({ line: `GET ${path}`, headers: withKey, status: /^401/ })),
  ...["/_next/hmr", "/_next/webpack-hmr", "/_next/hmr?id=1"].map((path) => ({
    line: `GET ${path}`,
    status: /^404/,
  })),
  { line: "GET *", status: /^400/ },
  { line: "GET http://127.0.0.1/x", status: /^404/ },
  { line: "GET http://127.0.0.1/api/ws", headers: withKey, status: /^401/ },
  { line: "GET /api/ws", headers: withKey, status: /^401/ },
  { line: "GET /api/ws", headers: withKey, ends: true, status: /^401|^$/ },
  { line: "GET /api/ws", status: /^(400|401|426)/ },
  { line: "POST /x", headers: `${webSocket}\r\nContent-Length: 5`, status: /^404/ },
  { line: "GET /x", headers: "Connection: Upgrade\r\nUpgrade: WebSocket, foo", status: /^404/ },
  { line: "GET /x", headers: "Connection: Upgrade, close\r\nUpgrade: h2c", status: /^404/ },
  { line: "GET /", headers: "Connection: Upgrade, close\r\nUpgrade: h2c", status: /^200/ },
  { line: "GET /x", headers: "Connection: Upgrade, close\r\nUpgrade: TLS/1.0", status: /^404/ },
  { line: "GET /x", ends: true, status: /^404/ },
  { line: "GET /x", headers: `${webSocket}\r\nHost: evil.example`, status: /^4(21|00)/ },
  { line: "CONNECT 127.0.0.1:80", headers: "X: y", status: /^$/ },
  { line: "CONNECT /api/ws", headers: webSocket, status: /^$|^400/ },
];

/** Sends a request and returns the status that was answered, once the server has closed its side. */
async function knock(at: string, { line, headers = webSocket, ends = false }: Knock): Promise<string> {
  const [address, port] = at.split(":");
  // A client that never closes its own side.
  const socket = connect({ host: address ?? "", port: Number(port), allowHalfOpen: true });
  socket.on("error", () => undefined);
  const host = headers.includes("Host:") ? "" : "Host: 127.0.0.1\r\n";
  const text = `${line} HTTP/1.1\r\n${host}${headers}\r\n\r\n`;
  if (ends) socket.end(text);
  else socket.write(text);
  let answer = "";
  socket.on("data", (part) => (answer += String(part)));
  await Promise.race([once(socket, "end"), once(socket, "close")]);
  left.push(socket);
  return answer.slice("HTTP/1.1 ".length).split("\r\n", 1)[0] ?? "";
}

const left: Socket[] = [];
const openFiles = async ({ pid }: ChildProcess) => (await readdir(`/proc/${pid}/fd`)).length;

test("a connection outlasts the pauses of a program that asks every few seconds, so that no request is lost on it", async () => {
  const agent = new Agent({ keepAlive: true });
  const sent = request(`http://${host}/api/next`, { agent }).end();
  const [answer]: IncomingMessage[] = await once(sent, "response");
  const [, seconds] = /timeout=(\d+)/.exec(String(answer?.headers["keep-alive"])) ?? [];
  expect(Number(seconds)).toBeGreaterThan(60);
  agent.destroy();
});

test(
  "every upgrade that is not the assistant's is answered and closed, and leaves no socket behind",
  inAll,
  async () => {
    // What serves the sockets is loaded with the first one, and keeps connections of its own.
    await knock(host, { line: "GET /api/ws", headers: withKey, status: /^401/ });
    const before = await openFiles(web);
    const all = knocks.flatMap((each) => Array.from({ length: 10 }, () => each));
    const answers = await Promise.all(all.map((each) => knock(host, each)));
    expect(answers).toEqual(all.map(({ status }) => expect.stringMatching(status)));
    expect(await waitUntil(async () => (await openFiles(web)) <= before + 2, 30_000)).toBe(true);
    for (const socket of left) socket.destroy();
  },
);

test("under development the tools of Next alone take upgrades of their own", async () => {
  const { child, at } = await startWeb(fixture.services, { NODE_ENV: "development" });
  expect(await knock(at, { line: "GET /_next/hmr?id=1", status: /^418/ })).toMatch(/^418/);
  for (const path of ["/_next/webpack-hmr", "/_next/static/x", "/x", "/_next/hmrx"])
    expect([path, await knock(at, { line: `GET ${path}`, status: /^404/ })]).toEqual([
      path,
      expect.stringMatching(/^404/),
    ]);
  child.kill("SIGKILL");
});

test(
  "D7 requests of socket.io are answered beside Next where other programs are served, and left to it elsewhere",
  inAll,
  async () => {
    const { services } = fixture;
    const { key } = await createApiKey(services, {
      userId: await addSpeaker(services.db, "Ben"),
      name: "test",
    });
    const { child, at } = await startWeb(fixture.services, { EXISTING_CLIENTS: "yes" });
    const address = "/socket.io/?EIO=4&transport=polling";
    const headers = { authorization: `Bearer ${key}` };
    const handshake = await fetch(`http://${at}${address}`, { headers });
    const text = await handshake.text();
    expect([handshake.status, text]).toEqual([200, expect.stringMatching(/^0\{"sid":"[\w-]+"/)]);
    const { sid } = Object(JSON.parse(text.slice(1)));
    const joined = await fetch(`http://${at}${address}&sid=${sid}`, { method: "POST", headers, body: "40" });
    expect([joined.status, await joined.text()]).toEqual([200, "ok"]);
    expect((await fetch(`http://${at}${address}`)).status).toBe(403);
    expect((await fetch(`http://${at}/socket.io`, { headers })).status).toBe(404);
    expect((await fetch(`http://${host}${address}`, { headers })).status).toBe(404);
    expect(
      await knock(host, {
        line: "GET /socket.io/?EIO=4&transport=websocket",
        headers: withKey,
        status: /^404/,
      }),
    ).toMatch(/^404/);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  },
);

test("B7 the web port serves sockets beside Next, which keeps all others, and closes them when it stops", async () => {
  const { services } = fixture;
  const ownerId = await addSpeaker(services.db, "Ann");
  const { key } = await createApiKey(services, { userId: ownerId, name: "test" });
  const { runId } = await ask(services, { ownerId, text: "What do I like?" });
  await services.db.execute(
    `update assistant_runs set status = 'completed', answer = 'Linen.', ended_at = now(), revision = revision + 1 where id = '${runId}'`,
  );
  const { message, closed } = await openSocket(key);
  expect(await message).toEqual({ request_id: runId, status: "completed", answer: "Linen." });
  for (const method of ["GET", "HEAD", "POST"]) {
    const plain = await fetch(`http://${host}/api/ws`, { method });
    expect([plain.status, plain.headers.get("upgrade")]).toEqual([426, "websocket"]);
  }
  const refused = await openSocket("nonsense");
  await expect(refused.message).rejects.toThrow("the socket failed");
  expect(await (await fetch(`http://${host}/`)).text()).toBe("page");
  web.kill("SIGTERM");
  expect(await closed).toBe(1001);
  expect(await once(web, "exit")).toEqual([0, null]);
});
