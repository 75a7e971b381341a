import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { findProgram } from "@atelier/testing/processes";
import { afterAll, beforeAll, expect, test } from "vitest";

/** SIMULATOR: a studio, and what may stand in its place, by the method that a message names. */
const answers: Record<string, (asked: Asked) => Reply | null> = {
  fine: ({ id }) => ({ body: message({ id, result: {} }) }),
  initialize: ({ id }) => ({
    headers: { "mcp-session-id": "a session" },
    body: event({ id, result: { protocolVersion: "2025-11-25" } }),
  }),
  // The name and the version that the first answer gave.
  named: ({ id, headers }) => ({
    body: message({
      id,
      result: { session: headers["mcp-session-id"], version: headers["mcp-protocol-version"] },
    }),
  }),
  told: ({ id }) => ({
    body: `: keepalive\n\n${event({ method: "notifications/progress", params: { progress: 1 } })}${event({ id, result: {} })}`,
  }),
  closed: () => ({ body: event({ method: "notifications/progress", params: { progress: 1 } }) }),
  torn: () => ({ body: event({ method: "notifications/progress", params: { progress: 1 } }), isTorn: true }),
  silent: () => ({ body: "", isTorn: true }),
  dumb: () => null,
  page: () => ({ status: 502, body: "<html>Bad Gateway</html>" }),
  empty: () => ({ status: 500, body: "" }),
  refused: () => ({
    status: 401,
    body: message({ id: null, error: { code: -32_000, message: "Wrong key." } }),
  }),
  moved: () => ({ status: 308, headers: { location: "https://studio.example.org/mcp" }, body: "" }),
};

interface Asked {
  readonly id: number;
  readonly headers: IncomingMessage["headers"];
}

interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** The connection ends in the middle. */
  readonly isTorn?: boolean;
}

const message = (members: object) => JSON.stringify({ jsonrpc: "2.0", ...members });
const event = (members: object) => `event: message\ndata: ${message(members)}\n\n`;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { id, method } = JSON.parse(await text(request));
  const reply = Object.hasOwn(answers, method)
    ? answers[method]?.({ id, headers: request.headers })
    : { status: 202, body: "" };
  // The request was read, and no byte comes back.
  if (!reply) return void request.socket.destroy();
  const { status = 200, headers = {}, body, isTorn = false } = reply;
  const type = /^(?:event|:)/.test(body) ? "text/event-stream" : "application/json";
  response.writeHead(status, { "content-type": type, ...headers });
  if (isTorn) response.write(body === "" ? " " : body, () => request.socket.destroy());
  else response.end(body);
}

const server = createServer((request, response) => void answer(request, response));
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
});
afterAll(() => server.close());

interface Spoken {
  readonly at?: string;
  readonly proxy?: string;
  /** Lines that follow the first answer. */
  readonly later?: readonly string[];
}

/** What the command gives to lines, after which its input ends. */
async function say(lines: readonly string[], { at = url, proxy, later }: Spoken = {}) {
  const command = [...(await findProgram("cli/main.ts")), "mcp", "--url", at];
  const textOf = (some: readonly string[]) => some.map((line) => `${line}\n`).join("");
  return new Promise<{ code: number; said: string; given: Record<string, never>[] }>((resolve) => {
    const { NODE_ENV } = process.env;
    const env = { NODE_ENV, ATELIER_API_KEY: "atl_key", HTTP_PROXY: proxy };
    const { stdin, stdout } = execFile(process.execPath, command, { env }, (error, out, said) => {
      const given = out.split("\n").filter((line) => line !== "");
      resolve({ code: error ? Number(error.code) : 0, said, given: given.map((line) => JSON.parse(line)) });
    });
    if (!later) return stdin?.end(textOf(lines));
    stdin?.write(textOf(lines));
    return stdout?.once("data", () => stdin?.end(textOf(later)));
  });
}

const ask = (id: number, method: string) => message({ id, method, params: {} });

test("each request on stdin has one answer, whatever the studio or what stands before it does", async () => {
  const methods = Object.keys(answers).filter((method) => !["initialize", "named"].includes(method));
  const lines = methods.map((method, id) => ask(id, method));
  const { code, given } = await say([...lines, message({ method: "notifications/initialized" }), "no JSON"]);
  expect(code).toBe(0);
  const ends = given.filter((one) => "id" in one);
  expect(new Set(ends.map(({ id }) => id))).toEqual(new Set(methods.keys()));
  expect(ends).toHaveLength(methods.length);
  const words = new Map(ends.map((one) => [methods[Number(one["id"])], JSON.stringify(one)]));
  expect([words.get("fine"), words.get("told")]).toEqual([
    expect.stringContaining('"result"'),
    expect.stringContaining('"result"'),
  ]);
  for (const broken of ["closed", "torn", "silent", "dumb", "page", "empty"])
    expect(words.get(broken)).toMatch(/broke off/);
  expect(words.get("page")).toMatch(/HTTP 502.*Bad Gateway/);
  expect(words.get("empty")).toMatch(/HTTP 500/);
  expect(words.get("refused")).toMatch(/Wrong key\./);
  expect(words.get("moved")).toMatch(/https:\/\/studio\.example\.org\/mcp/);
  expect(given.filter((one) => "method" in one)).toHaveLength(3);
});

test("a studio that is not there is told in each answer, and a message that is too long is refused", async () => {
  const { code, said, given } = await say([ask(1, "fine")], { at: "http://127.0.0.1:2" });
  expect([code, JSON.stringify(given), said]).toEqual([
    0,
    expect.stringMatching(/127\.0\.0\.1:2 cannot be reached .*ECONNREFUSED/),
    expect.stringContaining("cannot be reached"),
  ]);
  const long = message({ id: 2, method: "fine", params: { text: "x".repeat(33 * 1_048_576) } });
  const left = await say([long, long.replace('"id":2,', "").replace(/\}$/, ',"id":"4"}'), ask(3, "fine")]);
  const refused = { error: { message: expect.stringMatching(/^A message of \d+ bytes is left out/) } };
  expect(left.given).toMatchObject([
    { ...refused, id: 2 },
    { ...refused, id: "4" },
    { id: 3, result: {} },
  ]);
});

test("later requests name the session and the version of the first answer", async () => {
  const { given } = await say([ask(1, "initialize")], { later: [ask(2, "named")] });
  expect(given[1]).toMatchObject({ result: { session: "a session", version: "2025-11-25" } });
});

test("an address with a password is refused without repeating it, one that is no address of the web too", async () => {
  for (const at of [url.replace("//", "//me:secret@"), "ftp://studio.example.org", "studio"]) {
    const { code, said, given } = await say([ask(1, "fine")], { at });
    expect([code, given, said]).toEqual([1, [], expect.not.stringContaining("secret")]);
  }
});

test("a studio of another network is reached through the proxy of the environment", async () => {
  const { given } = await say([ask(1, "fine")], { at: "http://studio.example.org", proxy: url });
  expect(given).toMatchObject([{ id: 1, result: {} }]);
});
