import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect } from "node:net";
import path from "node:path";
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { lengthHeader, refusedMethodHeader } from "../../server/platform/addresses.ts";
import { arrivalMsOf, frontDoor, type FrontDoorEnv, isHandled } from "./front-door.ts";

let env: FrontDoorEnv = {};

/** A handler's file, which the framework sends in pieces; it packs some. Or a page whose frame comes before what is in it. */
function sendParts({ url, method }: IncomingMessage, answer: ServerResponse): void {
  if (url === "/in-parts") {
    answer.write("the frame, ");
    return void server.once("rest", () => answer.end("the pictures"));
  }
  answer.setHeader(lengthHeader, "11");
  if (url === "/packed") answer.setHeader("content-encoding", "gzip");
  if (method === "HEAD") return void answer.end();
  answer.write("a pic");
  answer.end("ture..");
}

const server: Server = createServer((incoming, answer) => {
  if (!frontDoor(env)(incoming, answer)) return;
  // Answers once the body is there.
  if (incoming.url?.endsWith("/read")) return void incoming.resume().once("end", () => answer.end("{}"));
  if (incoming.url !== "/") answer.setHeader("x-seen", `${incoming.method} ${incoming.url}`);
  if (incoming.url === "/absent") answer.statusCode = 404;
  if (["/file", "/packed", "/in-parts"].includes(incoming.url ?? "")) return sendParts(incoming, answer);
  // A framework that sends a page's text in answer to HEAD, too.
  if (incoming.url === "/as-parts") answer.write("A page ");
  if (incoming.url?.startsWith("/as-")) answer.end("of two parts");
  else answer.end(incoming.method === "HEAD" ? "" : JSON.stringify(incoming.headers));
});
server.keepAliveTimeout = 60_000;
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

test("a part of a file is not asked for: a file that ends before it would be an error", async () => {
  expect(await seenHeaders({ range: "bytes=99999999-" })).not.toHaveProperty("range");
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

/** What is answered to a request line as it is, of a client that no library can be. */
async function askLine(
  line: string,
  ...headers: string[]
): Promise<{ status: number; head: string; body: string }> {
  const socket = connect(port, "127.0.0.1");
  socket.end([line, ...headers, "Connection: close", "", ""].join("\r\n"));
  const answer = Buffer.concat(await Array.fromAsync(socket)).toString();
  const [head = "", ...body] = answer.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), head: head.toLowerCase(), body: body.join("") };
}

const own = "Host: localhost";

test("a request line with scheme and host is its path at that host, whatever Host says", async () => {
  for (const [line, seen, host] of [
    [`GET http://localhost/api/health?x=1 HTTP/1.1`, "get /api/health?x=1", "localhost"],
    [`POST HTTP://127.0.0.1:${port}/jobs HTTP/1.1`, "post /jobs", `127.0.0.1:${port}`],
    [`GET https://localhost:3000/a%20b HTTP/1.1`, "get /a%20b", "localhost:3000"],
  ] as const) {
    const answer = await askLine(line, "Host: evil.example");
    expect([line, answer.status]).toEqual([line, 200]);
    expect(answer.head).toContain(`x-seen: ${seen}`);
    expect(answer.body).toContain(`"host":"${host}"`);
  }
  const foreign = await askLine("GET http://evil.example/api/health HTTP/1.1", own);
  expect(foreign.status).toBe(421);
});

test("a request line that names no address of a web server is 400", async () => {
  for (const target of [
    "*",
    "ftp://localhost/a",
    "file:///etc/passwd",
    "http://",
    "http://user@localhost/",
    "http://user:secret@localhost/",
    "localhost:80",
    "javascript:1",
    "api/health",
    "?x=1",
  ])
    for (const method of ["GET", "TRACE"]) {
      const { status } = await askLine(`${method} ${target} HTTP/1.1`, own);
      expect([method, target, status]).toEqual([method, target, 400]);
    }
});

test.each([
  ["/api/v1/jobs", "100000000", 300_000],
  ["/api/v1/uploads/direct/x", undefined, 300_000],
  ["/api/v1/uploads/direct/x", "many", 300_000],
  ["/api/v1/uploads/direct/x", "3200000", 400_000],
  ["/api/v1/uploads?x=1", "3200000", 400_000],
  ["/api/v1/uploads", "500000000", 3_600_000],
  ["/api/v1/uploads", "99999999999", 300_000],
  ["/api/v1/uploadsx", "3200000", 300_000],
])("the body of %s with %s bytes may take %i ms", (url, length, ms) => {
  expect(arrivalMsOf({ url, headers: { "content-length": length } })).toBe(ms);
});

test("a body that takes too long ends its connection, that of an upload on a slow line arrives unless it is answered", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const begin = async (path: string) => {
      const socket = connect(port, "127.0.0.1").setEncoding("latin1");
      const received: string[] = [];
      socket.on("data", (part: string) => received.push(part));
      socket.on("error", () => undefined);
      socket.write(`PUT ${path} HTTP/1.1\r\n${own}\r\nContent-Length: 3200000\r\n\r\nx`);
      await once(server, "request");
      return { socket, received };
    };
    const late = await begin("/api/v1/jobs/read");
    const slow = await begin("/api/v1/uploads/read");
    const answered = await begin("/api/v1/uploads/direct/x");
    await vi.waitFor(() => expect(answered.received.join("")).toContain("\r\n\r\n"));
    const ended = Promise.all([late, answered].map(({ socket }) => once(socket, "close")));
    vi.advanceTimersByTime(300_000);
    await ended;
    slow.socket.end(
      `${"x".repeat(3_199_999)}GET /api/health HTTP/1.1\r\n${own}\r\nConnection: close\r\n\r\n`,
    );
    await once(slow.socket, "close");
    expect(slow.received.join("")).toContain("HTTP/1.1 200 OK");
  } finally {
    vi.useRealTimers();
  }
});

test("a page that is soon complete comes in one piece, and one that is not begins after 100 ms", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const open = async (accept: string) => {
      const socket = connect(port, "127.0.0.1").setEncoding("latin1");
      const received: string[] = [];
      socket.on("data", (part: string) => received.push(part));
      onTestFinished(() => void socket.destroy());
      const askPage = async () => {
        socket.write(`GET /in-parts HTTP/1.1\r\n${own}\r\nAccept: ${accept}\r\n\r\n`);
        await once(server, "request");
      };
      await askPage();
      return { received, askPage };
    };
    const page = await open("text/html,*/*;q=0.8");
    const other = await open("*/*");
    await vi.waitFor(() => expect(other.received.join("")).toContain("the frame"));
    expect(page.received).toEqual([]);
    server.emit("rest");
    await vi.waitFor(() => expect(page.received.join("")).toMatch(/the frame, [^]*the pictures/));
    page.received.length = 0;
    await page.askPage();
    await ask({}, "/absent");
    expect(page.received).toEqual([]);
    vi.advanceTimersByTime(100);
    await vi.waitFor(() => expect(page.received.join("")).toContain("the frame"));
    server.emit("rest");
    await vi.waitFor(() => expect(page.received.join("")).toContain("the pictures"));
  } finally {
    vi.useRealTimers();
  }
});

test("slashes too many in the address of a handler are dropped, so that no POST meets a redirect", async () => {
  const cases: [string, string][] = [
    ["//v1/models", "/v1/models"],
    ["/v1//images/generations/?a=//b/", "/v1/images/generations?a=//b/"],
    ["/mcp/", "/mcp"],
    ["/api/v1///jobs//", "/api/v1/jobs"],
    // Pages, files, and the one handler whose address ends so.
    ["/boards/", "/boards/"],
    ["//samples/a.png", "//samples/a.png"],
    ["/socket.io/?EIO=4", "/socket.io/?EIO=4"],
  ];
  for (const [path, seen] of cases)
    expect([path, (await ask({}, path)).sent["x-seen"]]).toEqual([path, `GET ${seen}`]);
});

test("what a handler answers has its length, unless it is packed on its way", async () => {
  for (const method of ["GET", "HEAD"]) {
    const { head } = await askLine(`${method} /file HTTP/1.1`, own);
    expect([method, head]).toEqual([method, expect.stringContaining("content-length: 11\r\n")]);
    expect(head).not.toMatch(/transfer-encoding|x-atelier/);
  }
  const { head } = await askLine("GET /packed HTTP/1.1", own);
  expect(head).not.toMatch(/content-length|x-atelier/);
});

test("OPTIONS * names what the server takes", async () => {
  const { status, head } = await askLine("OPTIONS * HTTP/1.1", own);
  expect([status, head]).toEqual([204, expect.stringContaining("allow: get, head, post")]);
  expect((await askLine("OPTIONS * HTTP/1.1", "Host: evil.example")).status).toBe(421);
});

test("a method that no handler can be given is handed on as OPTIONS with its name, which no client can forge", async () => {
  for (const method of ["TRACE", "PROPFIND", "PURGE", "LINK", "SEARCH"]) {
    const answer = await askLine(`${method} /api/health HTTP/1.1`, own);
    expect([method, answer.status]).toEqual([method, 200]);
    expect(answer.head).toContain("x-seen: options /api/health");
    expect(answer.body).toContain(`"${refusedMethodHeader}":"${method}"`);
  }
  const forged = await askLine("OPTIONS /api/health HTTP/1.1", own, `${refusedMethodHeader}: TRACE`);
  expect(forged.body).not.toContain(refusedMethodHeader);
});

test("pages and files are read alone: other methods are 405 where there is one, 404 where there is none", async () => {
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "OPTIONS"]) {
    const there = await askLine(`${method} /gallery HTTP/1.1`, own, "Content-Length: 0");
    expect([method, there.status, there.body]).toEqual([method, method === "OPTIONS" ? 204 : 405, ""]);
    expect(there.head).toContain("allow: get, head, options");
    expect(there.head).toContain("x-seen: head /gallery");
    const absent = await askLine(`${method} /absent HTTP/1.1`, own, "Content-Length: 0");
    expect([method, absent.status, absent.head.includes("allow:")]).toEqual([method, 404, false]);
  }
  expect((await askLine("POST /jobs HTTP/1.1", own, "Content-Length: 0")).head).toContain(
    "x-seen: post /jobs",
  );
});

test("what a page would show is not sent to a method that is refused, so the connection's next answer is whole", async () => {
  for (const [method, path] of [
    ["TRACE", "/as-text"],
    ["POST", "/as-parts"],
    ["OPTIONS", "/as-parts"],
    ["PUT", "/absent"],
  ]) {
    const socket = connect(port, "127.0.0.1").setEncoding("latin1");
    let received = "";
    socket.on("data", (part: string) => (received += part));
    socket.write(`${method} ${path} HTTP/1.1\r\n${own}\r\nContent-Length: 0\r\n\r\n`);
    await vi.waitFor(() => expect(received).toContain("\r\n\r\n"));
    socket.end(`GET /api/health HTTP/1.1\r\n${own}\r\nConnection: close\r\n\r\n`);
    await once(socket, "close");
    const [first = "", ...rest] = received.split("\r\n\r\n");
    expect([path, /content-length: 0/i.test(first), rest[0]?.slice(0, 15)]).toEqual([
      path,
      true,
      "HTTP/1.1 200 OK",
    ]);
  }
});

test("the addresses of route handlers are those that the files of the pages' framework have", async () => {
  const app = path.resolve(import.meta.dirname, "../../app");
  const files = await readdir(app, { recursive: true });
  const paths = files
    .filter((file) => /\/(route|page)\.tsx?$/.test(file))
    .map((file) => ({
      isHandler: file.endsWith("/route.ts"),
      path: `/${path
        .dirname(file)
        .replace(/^\(\w+\)\//, "")
        .replaceAll(/\[+[.\w]+\]+/g, "x")}`,
    }));
  expect(paths.length).toBeGreaterThan(40);
  for (const each of paths) expect([each.path, isHandled(each.path)]).toEqual([each.path, each.isHandler]);
});

test("HSTS is sent only when APP_URL is https", async () => {
  env = { APP_URL: "https://studio.example" };
  expect((await ask({ host: "studio.example" })).sent["strict-transport-security"]).toMatch(/^max-age=\d{8}/);
  env = { APP_URL: "http://studio.example" };
  expect((await ask({ host: "studio.example" })).sent).not.toHaveProperty("strict-transport-security");
});

test("many cookies of other programs at the host shut nobody out", () => {
  const script = `
    import { createServer, request } from "node:http";
    const server = createServer((_, answer) => answer.end());
    server.listen(0, "127.0.0.1", () => {
      const sizes = [15_000, 60_000, 70_000];
      const ask = (size) => new Promise((resolve) => {
        const headers = { cookie: "a=" + "b".repeat(size) };
        request({ port: server.address().port, headers, agent: false }, (answer) => resolve(answer.statusCode)).end();
      });
      Promise.all(sizes.map(ask)).then((found) => { console.log(found.join()); process.exit(); });
    });`;
  const preload = path.join(import.meta.dirname, "preload.ts");
  const args = [`--import=${preload}`, "--input-type=module", "--eval", script];
  const env = { NODE_ENV: "test", HOST: "127.0.0.1" } as const;
  expect(execFileSync(process.execPath, args, { env, encoding: "utf8" }).trim()).toBe("200,200,431");
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
