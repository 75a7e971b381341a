import { once } from "node:events";
import { createServer, request, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, expect, test } from "vitest";
import { frontDoor, type FrontDoorEnv } from "./front-door.ts";

let env: FrontDoorEnv = {};
const server: Server = createServer((incoming, answer) => {
  if (!frontDoor(env)(incoming, answer)) return;
  answer.end(JSON.stringify(incoming.headers));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;

beforeEach(() => (env = {}));
afterAll(() => void server.close());

interface Answer {
  readonly status: number | undefined;
  readonly sent: IncomingHttpHeaders;
  readonly text: string;
}

function ask(headers: Record<string, string | string[]>, path = "/"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, path, headers, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode, sent: answer.headers, text }));
    });
    sent.on("error", reject).end();
  });
}

async function seenHeaders(headers: Record<string, string | string[]>): Promise<IncomingHttpHeaders> {
  return JSON.parse((await ask(headers)).text);
}

test("without trusted proxies the address of the socket is the client's, whatever the client says", async () => {
  for (const forged of ["203.0.113.9", "203.0.113.9, 127.0.0.1", "", "nonsense"]) {
    const seen = await seenHeaders({
      "x-forwarded-for": forged,
      "x-real-ip": "203.0.113.9",
      forwarded: "for=203.0.113.9",
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
    });
    expect(seen).toMatchObject({ "x-forwarded-for": "127.0.0.1" });
    for (const name of ["x-real-ip", "forwarded", "x-forwarded-host", "x-forwarded-proto"])
      expect(seen).not.toHaveProperty(name);
  }
});

test("behind trusted proxies the client is the first address from the right that is not one of them", async () => {
  env = { TRUSTED_PROXIES: "127.0.0.1, 10.0.0.0/8,2001:db8::/32" };
  const cases: [string | string[], string][] = [
    ["198.51.100.7", "198.51.100.7"],
    ["203.0.113.9, 198.51.100.7", "198.51.100.7"],
    ["203.0.113.9, 198.51.100.7, 10.1.2.3", "198.51.100.7"],
    ["203.0.113.9, 198.51.100.7:4711, 2001:db8::5, ::ffff:10.0.0.1", "198.51.100.7"],
    ["203.0.113.9, [2001:db9::1]:443, 10.0.0.1", "2001:db9::1"],
    ["203.0.113.9, unknown, 10.0.0.1", "10.0.0.1"],
    ["10.0.0.2, 10.0.0.1", "10.0.0.2"],
    [["203.0.113.9", "198.51.100.7"], "198.51.100.7"],
    ["", "127.0.0.1"],
  ];
  for (const [forwardedFor, client] of cases) {
    const seen = await seenHeaders({ "x-forwarded-for": forwardedFor });
    expect([forwardedFor, seen["x-forwarded-for"]]).toEqual([forwardedFor, client]);
  }
});

test("host and scheme that a trusted proxy forwards are kept, of several proxies those of the nearest", async () => {
  env = { TRUSTED_PROXIES: "127.0.0.1" };
  const seen = await seenHeaders({
    "x-forwarded-host": "evil.example, studio.example",
    "x-forwarded-proto": "https",
  });
  expect(seen).toMatchObject({ "x-forwarded-host": "studio.example", "x-forwarded-proto": "https" });
});

const statusesOf = (hosts: string[]) => Promise.all(hosts.map(async (host) => (await ask({ host })).status));

test("bound to loopback the studio answers to this machine's names and APP_URL's host, to others with 421", async () => {
  const own = ["localhost", "localhost:4100", "127.0.0.1:9", "[::1]:3000", "LOCALHOST"];
  const foreign = [
    "evil.example:4100",
    "localhost.evil.example",
    "evil.example@localhost",
    "127.0.0.1.nip.io",
  ];
  env = { HOST: "127.0.0.1" };
  expect(await statusesOf([...own, "studio.example"])).toEqual([200, 200, 200, 200, 200, 421]);
  expect(await statusesOf(foreign)).toEqual([421, 421, 421, 421]);
  env = { HOST: "localhost", APP_URL: "https://studio.example" };
  expect(await statusesOf(["studio.example", "studio.example:8443", ...foreign])).toEqual([
    200, 200, 421, 421, 421, 421,
  ]);
  const refused = await ask({ host: "evil.example", "x-forwarded-host": "localhost" });
  expect([refused.status, refused.text]).toEqual([421, expect.stringContaining("set APP_URL")]);
});

test("bound to another address every host is answered", async () => {
  env = { HOST: "0.0.0.0" };
  expect(await statusesOf(["192.168.1.20:3000", "studio.lan", "localhost"])).toEqual([200, 200, 200]);
});

test("HSTS is sent only when APP_URL is https", async () => {
  env = { APP_URL: "https://studio.example" };
  expect((await ask({ host: "studio.example" })).sent["strict-transport-security"]).toMatch(/^max-age=\d{8}/);
  env = { APP_URL: "http://studio.example" };
  expect((await ask({ host: "studio.example" })).sent).not.toHaveProperty("strict-transport-security");
});

test("a path that is no text is refused in a sentence", async () => {
  for (const path of ["/images/%ff", "/image/raw/u/%ed%a0%80", "/%", "/%zz", "/%c3%28", "/api/%00", "/a%00b"])
    expect([path, await ask({}, path)]).toEqual([
      path,
      expect.objectContaining({ status: 400, text: expect.stringContaining("UTF-8") }),
    ]);
  for (const path of ["/%20", "/%E6%9D%B1", "/a%2Fb", "/?q=%ff"])
    expect((await ask({}, path)).status).toBe(200);
});
