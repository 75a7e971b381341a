import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClientScene, openClientScene } from "../clients/fixtures/scene.ts";

let scene: ClientScene;
beforeAll(async () => {
  scene = await openClientScene();
}, 60_000);
afterAll(() => scene.close());

const ask = ({ headers, ...init }: { method: string; body?: string; headers?: Record<string, string> }) =>
  scene.app.fetch(
    new Request("http://localhost/mcp", {
      ...init,
      headers: {
        authorization: `Bearer ${scene.owner.key}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...headers,
      },
    }),
  );

/** The messages of an answer, which is JSON or a stream of events. */
async function send(message: unknown, headers: Record<string, string> = {}) {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  const response = await ask({ method: "POST", body, headers });
  const text = await response.text();
  const [, data = text] = /^data: (.*)$/m.exec(text) ?? [];
  return { status: response.status, session: response.headers.get("mcp-session-id"), ...parse(data) };
}
const parse = (text: string) => (text === "" ? {} : JSON.parse(text));

test("a page of another site is refused", async () => {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  expect(await send(message, { origin: "https://evil.example" })).toMatchObject({
    status: 403,
    jsonrpc: "2.0",
  });
});

test("what clients send amiss is answered by JSON-RPC, and never as a fault of the server", async () => {
  const asked = (id: unknown, method: string, params: object = {}) => ({
    jsonrpc: "2.0",
    id,
    method,
    params,
  });
  const info = { capabilities: {}, clientInfo: { name: "old", version: "1" } };
  const begun = await send(asked(0, "initialize", { ...info, protocolVersion: "1999-01-01" }));
  expect([begun.id, begun.result.protocolVersion]).toEqual([0, "2025-11-25"]);
  expect(begun.session).toMatch(/^[\x21-\x7e]+$/);
  for (const id of ["a", "", 0, 7]) expect(await send(asked(id, "ping"))).toMatchObject({ id, result: {} });
  const list = asked(1, "tools/list");
  const faults: [unknown, Record<string, string>, number, number][] = [
    [[list, list], {}, 400, -32_600],
    ["{", {}, 400, -32_700],
    [{ id: 1 }, {}, 400, -32_700],
    [asked(null, "ping"), {}, 400, -32_700],
    [list, { accept: "application/json" }, 406, -32_000],
    [list, { "content-type": "text/plain" }, 415, -32_000],
    [list, { "mcp-protocol-version": "1999-01-01" }, 400, -32_000],
    ["x".repeat(26_000_000), {}, 413, -32_000],
    [asked(1, "nothing"), {}, 200, -32_601],
    [asked(1, "resources/list"), {}, 200, -32_601],
    [asked(1, "tools/call", { name: "nothing" }), {}, 200, -32_602],
    [asked(1, "tools/call", { name: "list_models", task: {} }), {}, 200, -32_601],
    [asked(1, "tools/call", { name: "generate_image", task: {} }), {}, 200, -32_602],
    [asked(1, "tasks/get", { taskId: "nothing" }), {}, 200, -32_602],
    [asked(1, "tasks/list", { cursor: "nothing" }), {}, 200, -32_602],
  ];
  for (const [message, headers, status, code] of faults)
    expect(await send(message, headers)).toMatchObject({ status, jsonrpc: "2.0", error: { code } });
  const missing = await send(
    asked(1, "tools/call", { name: "generate_image", arguments: { width: "wide" } }),
  );
  expect(missing.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/bad_request.*prompt.*width/s) }],
  });
  // A session is a name alone: one that the studio never gave does no harm.
  expect((await send(list, { "mcp-session-id": "made up" })).result.tools.length).toBeGreaterThan(10);
  for (const method of ["GET", "DELETE"])
    expect((await ask({ method, headers: { "mcp-session-id": "made up" } })).status).toBe(405);
  const left = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } };
  expect((await send(left, { "mcp-session-id": "made up" })).status).toBe(202);
});

test("the schemas of the tools say what each value is, as the inspector asks", async () => {
  const { result } = await send({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const unsaid = (value: unknown): boolean =>
    typeof value === "object" &&
    value !== null &&
    (Object.keys(value).length === 0 ||
      ("additionalProperties" in value && unsaid(value.additionalProperties)));
  for (const { name, inputSchema } of result.tools) {
    expect(JSON.stringify(inputSchema)).not.toMatch(/\$ref/);
    const strange = Object.entries(inputSchema.properties).filter(([, value]) => unsaid(value));
    expect([name, strange]).toEqual([name, []]);
  }
});
