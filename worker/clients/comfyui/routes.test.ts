import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type GivenAnswer, serveAnswers } from "@atelier/testing/http";
import { testCertificate } from "@atelier/testing/network";
import { cancelPrompt, postPrompt } from "./post.ts";
import {
  findPrompt,
  freeMemory,
  readHistory,
  readObjectInfo,
  readQueue,
  readQueueLength,
  readSystemStats,
  uploadImage,
  viewImage,
} from "./routes.ts";
import { hasSucceeded, outputsOf } from "./failures.ts";
import { unreachableText } from "./http.ts";

const { signal } = new AbortController();
const promptId = "10ccd508-9eac-4400-a3d5-74c2224fefd7";
const prompt = { graph: {}, promptId, clientId: promptId };
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(answer: GivenAnswer) {
  const server = await serveAnswers(() => answer);
  closers.push(() => server.close());
  return server;
}

const page = "<html>\r\n<head><title>502 Bad Gateway</title></head></html>";

test.each([
  ["a page of nginx", { status: 502, type: "text/html", body: page }, "proxy_error"],
  ["a page with a good status", { type: "text/html", body: "<!DOCTYPE html><p>Sign in" }, "proxy_error"],
  ["a page that says it is text", { status: 500, type: "text/plain", body: page }, "proxy_error"],
  ["nginx's limit of bodies", { status: 413, type: "text/html", body: page }, "request_too_large"],
  [
    "ComfyUI's own limit of bodies",
    { status: 413, type: "text/plain; charset=utf-8", body: "Maximum request body size 104857600 exceeded." },
    "request_too_large",
  ],
  ["a timeout of Cloudflare, in JSON", { status: 524, body: '{"title":"Error 524"}' }, "proxy_error"],
  ["a tunnel without its server", { status: 530, body: "error code: 1033" }, "proxy_error"],
  ["an overload by the newer status", { status: 529, body: "{}" }, "server_busy"],
  ["a redirect to a sign-in", { status: 302, location: "/login" }, "proxy_error"],
  ["missing credentials", { status: 401 }, "proxy_error"],
  ["another kind of server", { status: 404, body: "{}" }, "proxy_error"],
  ["a server that is too busy", { status: 503, body: "{}" }, "server_busy"],
  [
    "a failure of aiohttp",
    { status: 500, type: "text/plain", body: "Server got itself in trouble" },
    "engine_failed",
  ],
  ["no JSON", { body: "pong" }, "proxy_error"],
  ["other JSON", { body: "[]" }, "proxy_error"],
] as const)("A12 an answer that is %s", async (_name, answer, code) => {
  await expect(readSystemStats(await serve(answer), { signal })).rejects.toMatchObject({ code });
});

test("F26 a server that resets the connection, refuses it or never answers is lost", async () => {
  const cut = await serve("reset");
  await expect(readQueueLength(cut, { signal })).rejects.toMatchObject({ code: "server_lost" });
  const gone = await serveAnswers(() => "hang");
  await gone.close();
  await expect(readQueueLength(gone, { signal })).rejects.toMatchObject({
    code: "server_lost",
    details: { reason: "ECONNREFUSED" },
  });
  const silent = await serve("hang");
  await expect(readQueueLength(silent, { signal, timeoutMs: 50 })).rejects.toMatchObject({
    code: "server_lost",
    details: { reason: "timeout" },
  });
});

test.each([
  [403, "", "../renders", "no_picture"],
  [403, "", "a/b", "proxy_error"],
  [403, "", "/srv/renders/", "no_picture"],
  [500, "500 Internal Server Error", String.raw`E:\images`, "no_picture"],
  [403, "<html>WAF</html>", "/srv/renders", "no_picture"],
  [500, "500 Internal Server Error", "a..b/c", "engine_failed"],
  [403, "The token is wrong.", "a", "proxy_error"],
  [502, "", "../renders", "proxy_error"],
  [404, "", "a", "engine_failed"],
] as const)(
  "A12 a file for which the server answers %i %j in the folder %j: %s",
  async (status, body, subfolder, code) => {
    const server = await serve({ status, body });
    const file = { filename: "a.png", subfolder, type: "output" } as const;
    const view = { file, target: "/dev/null", maxBytes: 100 };
    await expect(viewImage(server, view, { signal })).rejects.toMatchObject({ code });
  },
);

test("A12 a file of which nothing more comes is lost with its server, one that comes slowly is not", async () => {
  let parts = 60;
  const server = createPlainServer((_request, response) => {
    response.write("a");
    const timer = setInterval(() => {
      parts -= 1;
      if (parts > 0) response.write("a");
      else if (parts === 0) response.end();
    }, 50);
    response.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const closed = new Promise<void>((resolve) => server.on("close", resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
    return closed;
  });
  const slow = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const limits = { target: "/dev/null", maxBytes: 100, silenceMs: 2_000 };
  const view = { file: { ...file, type: "output" as const }, ...limits };
  await viewImage(slow, view, { signal });
  parts = 0;
  await expect(viewImage(slow, view, { signal })).rejects.toMatchObject({
    code: "server_lost",
    details: { reason: "timeout" },
  });
});

test.each([
  ["text/html; charset=utf-8", "<p>You are about to visit"],
  ["application/json", '{"error":"Slow down."}'],
])("A12 an answer of %s in place of a file is one of a proxy", async (type, body) => {
  const server = await serve({ type, body });
  const view = { file: { ...file, type: "output" as const }, target: "/dev/null", maxBytes: 100 };
  await expect(viewImage(server, view, { signal })).rejects.toMatchObject({ code: "proxy_error" });
});

test("A12 a node is known whose list names a quarter of a million files", async () => {
  const names = Array.from({ length: 250_000 }, (_, at) => `a picture of the input folder ${at}.png`);
  const info = { input: { required: { image: [names, { image_upload: true }] } } };
  const server = await serve({ body: JSON.stringify({ LoadImage: info }) });
  expect(await readObjectInfo(server, "LoadImage", { signal })).toMatchObject(info);
});

test.each([
  [400, "no_picture"],
  [404, "engine_failed"],
])("A12 a name with two dots, which ComfyUI gives out in no folder (%i): %s", async (status, code) => {
  const server = await serve({ status, body: "" });
  const view = {
    file: { ...file, filename: "a..b.png", type: "output" as const },
    target: "/dev/null",
    maxBytes: 100,
  };
  await expect(viewImage(server, view, { signal })).rejects.toMatchObject({ code });
});

test.each(["UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"])(
  "A12 an authority that is not known is told with what to do: %s",
  (code) => {
    expect(unreachableText(code)).toMatch(new RegExp(`not known here \\(${code}\\).*NODE_EXTRA_CA_CERTS`));
  },
);

test("A12 a certificate of its own, and plain HTTP where TLS is asked for, are told with what to do", async () => {
  const secure = createServer({ ...testCertificate }, (_request, response) => response.end("{}"));
  await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
  const { port } = secure.address() as AddressInfo;
  await expect(readQueueLength({ url: `https://127.0.0.1:${port}` }, { signal })).rejects.toMatchObject({
    code: "server_lost",
    message: expect.stringMatching(/self-signed \(DEPTH_ZERO_SELF_SIGNED_CERT\).*NODE_EXTRA_CA_CERTS/),
  });
  secure.close();
  const plain = await serve({ body: "{}" });
  const url = plain.url.replace("http:", "https:");
  await expect(readQueueLength({ url }, { signal })).rejects.toMatchObject({
    code: "server_lost",
    message: expect.stringMatching(/^The server cannot be reached: it speaks no TLS there/),
  });
});

test("F36 an aborted call rejects with the signal's reason", async () => {
  const controller = new AbortController();
  const server = await serve("hang");
  const call = readQueueLength(server, { signal: controller.signal });
  controller.abort(new Error("stop"));
  await expect(call).rejects.toThrow("stop");
});

test("A12 routes are joined to a base path, credentials become a header and no Origin is sent", async () => {
  const server = await serve({});
  const url = `${server.url.replace("//", "//me:p%40ss@")}/comfy/gpu1/`;
  await freeMemory({ url, headers: { "x-key": "k" } }, { signal });
  await readObjectInfo({ url }, "A/B c", { signal }).catch(() => null);
  expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /comfy/gpu1/free",
    "GET /comfy/gpu1/object_info/A%2FB%20c",
  ]);
  const [first] = server.requests;
  expect(first?.headers).toMatchObject({ authorization: `Basic ${btoa("me:p@ss")}`, "x-key": "k" });
  expect(first?.headers).not.toHaveProperty("origin");
});

test("A12 device, memory and version of a server", async () => {
  const device = {
    name: "cuda:0 A",
    type: "cuda",
    index: 0,
    vram_total: 24,
    vram_free: 20,
    torch_vram_total: 1,
  };
  const body = JSON.stringify({
    system: { comfyui_version: "0.8.0", ram_total: 64, ram_free: 32 },
    devices: [device],
  });
  expect(await readSystemStats(await serve({ body }), { signal })).toEqual({
    version: "0.8.0",
    ramTotalBytes: 64,
    ramFreeBytes: 32,
    devices: [{ name: "cuda:0 A", type: "cuda", vramTotalBytes: 24, vramFreeBytes: 20 }],
  });
});

test("A12 a class that the server does not have is null", async () => {
  expect(await readObjectInfo(await serve({ body: "{}" }), "KSampler", { signal })).toBeNull();
});

test("A12 an upload is used under the name that the server gave it", async () => {
  const server = await serve({
    body: JSON.stringify({ name: "a (1).png", subfolder: "atelier", type: "input" }),
  });
  const upload = { image: new Blob(["x"]), name: "a.png", subfolder: "atelier" };
  expect(await uploadImage(server, upload, { signal })).toBe("atelier/a (1).png");
  expect(server.requests[0]?.body).toContain('name="image"; filename="a.png"');
});

test("A12 the newer line's words for a class that is not there", async () => {
  const error = {
    type: "missing_node_type",
    message: "Node 'X' not found.",
    details: "",
    extra_info: { node_id: "3", class_type: "CatVTONWrapper", node_title: "Try on" },
  };
  const server = await serve({ status: 400, body: JSON.stringify({ error, node_errors: {} }) });
  await expect(postPrompt(server, prompt, { signal })).rejects.toMatchObject({
    code: "node_missing",
    details: { classes: ["CatVTONWrapper"] },
  });
});

test("A12 a prompt that was taken without some of its outputs is taken back and fails", async () => {
  const nodeError = {
    type: "value_not_in_list",
    message: "",
    details: "",
    extra_info: { input_name: "crop" },
  };
  const node_errors = { "2": { errors: [nodeError], dependent_outputs: ["5"], class_type: "ImageScale" } };
  const server = await serveAnswers(({ path }) => {
    if (path === "/prompt") return { body: JSON.stringify({ prompt_id: promptId, number: 1, node_errors }) };
    if (path.startsWith("/api/jobs")) return { status: 405 };
    return { body: JSON.stringify({ queue_running: [], queue_pending: [] }) };
  });
  closers.push(() => server.close());
  await expect(postPrompt(server, prompt, { signal })).rejects.toMatchObject({ code: "graph_invalid" });
  expect(server.requests.find(({ path, method }) => method === "POST" && path === "/queue")?.body).toBe(
    JSON.stringify({ delete: [promptId] }),
  );
});

test("A12 a seed that JavaScript cannot hold is never sent", async () => {
  const server = await serve({});
  const graph = { "3": { class_type: "KSampler", inputs: { seed: 2 ** 53 } } };
  await expect(postPrompt(server, { ...prompt, graph }, { signal })).rejects.toMatchObject({
    code: "graph_invalid",
  });
  expect(server.requests).toEqual([]);
});

const file = { filename: "a.png", subfolder: "", type: "output" };
const success = { status_str: "success", completed: true, messages: [] };
const ended = (entry: object) => ({ body: JSON.stringify({ [promptId]: entry }) });

test.each<[string, GivenAnswer, object[]]>([
  [
    "numbers that JSON does not have, from a node that is never the same",
    {
      body: `{"${promptId}":{"prompt":[1,"x",{"3":{"is_changed":[NaN]}}],"outputs":{"9":{"images":[{"filename":"a.png","subfolder":"","type":"output"}]}},"status":{"status_str":"success","completed":true,"messages":[]}}}`,
    },
    [{ nodeId: "9", ...file }],
  ],
  [
    "outputs of other forms beside the picture",
    ended({
      outputs: { 1: null, 2: ["text"], 3: "text", 4: { text: null }, 9: { images: [null, file] } },
      status: success,
    }),
    [{ nodeId: "9", ...file }],
  ],
  [
    "messages of extensions",
    ended({
      outputs: { 9: { images: [file] } },
      status: { ...success, messages: [null, ["a"], ["b", {}, 1], {}] },
    }),
    [{ nodeId: "9", ...file }],
  ],
  [
    "files without folder and type, and with the folder in the name",
    ended({
      outputs: {
        9: {
          images: [
            { filename: "a.png" },
            { filename: "2026\\11/b.png", subfolder: null, type: "x" },
            { filename: "/srv/r/c.png", subfolder: "x" },
            { filename: "D:\\r\\d.png" },
          ],
        },
      },
      status: success,
    }),
    [
      { nodeId: "9", ...file },
      { nodeId: "9", filename: "b.png", subfolder: "2026/11", type: "output" },
      { nodeId: "9", filename: "c.png", subfolder: "/srv/r/", type: "output" },
      { nodeId: "9", filename: "d.png", subfolder: "D:/r/", type: "output" },
    ],
  ],
  [
    "prompts of others, in forms of their own",
    {
      body: JSON.stringify({
        other: null,
        another: { outputs: 7 },
        [promptId]: { outputs: { 9: { images: [file] } }, status: success },
      }),
    },
    [{ nodeId: "9", ...file }],
  ],
  ["no outputs at all", ended({ outputs: null, status: { completed: true, messages: null } }), []],
])("A12 the history of a prompt is read with %s", async (_name, answer, files) => {
  const entry = await readHistory(await serve(answer), promptId, { signal });
  expect(entry && hasSucceeded(entry) && outputsOf(entry)).toEqual(files);
});

test("A12 a prompt of another client in a form of its own does not hide ours in the queue", async () => {
  const queue = `{"queue_running":[[NaN,"other",{"1":{"inputs":{"a":Infinity}}}],[1,"${promptId}",{}]],"queue_pending":[null,{"id":"x"},["-1",7,{}],[2]]}`;
  const server = await serveAnswers(({ path }) => ({ body: path.startsWith("/history") ? "{}" : queue }));
  closers.push(() => server.close());
  expect(await readQueue(server, { signal })).toEqual({ running: ["other", promptId], pending: ["7"] });
  expect(await findPrompt(server, promptId, { signal })).toEqual({ state: "running" });
});

test.each([
  { queue_running: [{ prompt_id: promptId }], queue_pending: [] },
  { queue_running: [[1, "other", {}]], queue_pending: [{ prompt_id: promptId }, null] },
])("A12 a queue of which no entry can be read is not empty: %j", async (queue) => {
  const body = JSON.stringify(queue);
  const server = await serveAnswers(({ path }) => ({ body: path.startsWith("/history") ? "{}" : body }));
  closers.push(() => server.close());
  await expect(findPrompt(server, promptId, { signal })).rejects.toMatchObject({ code: "proxy_error" });
});

test.each([
  ["a word", "error", false],
  ["a list", [], false],
  ["none, as older servers have it", null, true],
])("A12 a status that is %s is a success only where there is none", async (_name, given, isGood) => {
  const server = await serve(ended({ outputs: { 9: { images: [file] } }, status: given }));
  const entry = await readHistory(server, promptId, { signal });
  expect(entry && hasSucceeded(entry)).toBe(isGood);
});

test.each([
  ["lists that are none", { input: { required: [], optional: null }, output: null, output_node: null }, {}],
  ["no inputs", { input: null, output_node: 1 }, {}],
  ["any number of outputs", { input: {}, output: {}, output_is_list: {}, output_name: {} }, {}],
  ["a limit without an end", { input: { required: { a: ["FLOAT", {}] } } }, { a: ["FLOAT", {}] }],
])("A12 a node class is there, whatever the form of its members: %s", async (_name, info, required) => {
  const server = await serve({ body: JSON.stringify({ Own: info }) });
  expect(await readObjectInfo(server, "Own", { signal })).toEqual({
    input: { required, optional: {} },
    output: undefined,
    output_node: expect.any(Boolean),
  });
});

const said = "Prompt refused by the node pack.";

test.each([
  ["only a sentence", 400, { error: said, node_errors: [] }, "engine_failed"],
  [
    "a sentence beside odd nodes",
    400,
    { error: said, node_errors: { "1": null, "2": "odd" } },
    "engine_failed",
  ],
  ["a good status", 200, { error: { type: "x", message: said }, node_errors: {} }, "graph_invalid"],
  ["both", 200, { error: said, prompt_id: null }, "engine_failed"],
  ["an object of a gate", 400, { error: { message: said } }, "engine_failed"],
])("A12 a refusal that is %s keeps the server's words", async (_name, status, body, code) => {
  const server = await serve({ status, body: JSON.stringify(body) });
  await expect(postPrompt(server, prompt, { signal })).rejects.toMatchObject({
    code,
    message: `The server refused the workflow: ${said}`,
  });
});

test("A12 a fault in a form of its own hides no other one", async () => {
  const missing = {
    type: "value_not_in_list",
    extra_info: { input_name: "ckpt_name", received_value: "SDXL\\a.safetensors" },
  };
  const node_errors = {
    "1": "odd",
    "2": { class_type: "CheckpointLoaderSimple", errors: [null, "odd", missing] },
    "3": null,
    "4": { class_type: 4, errors: "odd" },
  };
  const error = { type: "prompt_outputs_failed_validation", message: said };
  const server = await serve({ status: 400, body: JSON.stringify({ error, node_errors }) });
  const file = "SDXL\\a.safetensors";
  await expect(postPrompt(server, prompt, { signal })).rejects.toMatchObject({
    code: "model_missing",
    details: { models: [{ class: "CheckpointLoaderSimple", input: "ckpt_name", file }] },
  });
});

test("S9 A12 a sentence holds neither the prompt nor places and keys", async () => {
  const error = "no 'portrait of Ada' in /home/me/.config api_key=sk-abcdefgh12345678";
  const server = await serve({ status: 400, body: JSON.stringify({ error }) });
  const given = { ...prompt, userTexts: ["a portrait of Ada"] };
  const refused = await postPrompt(server, given, { signal }).catch((thrown: unknown) => thrown);
  expect(refused).toMatchObject({ code: "engine_failed", message: expect.stringContaining("[input]") });
  expect(JSON.stringify([String(refused), refused])).not.toMatch(/portrait|Ada|home|me\/|abcdefgh/);
});

test("A12 a class that is not there may be named in a sentence", async () => {
  const error = "Cannot execute because node Foo does not exist";
  const server = await serve({ status: 400, body: JSON.stringify({ error }) });
  await expect(postPrompt(server, prompt, { signal })).rejects.toMatchObject({
    code: "node_missing",
    details: { classes: ["Foo"] },
  });
});

test("A12 an accepted prompt may have an empty error beside its id", async () => {
  const body = JSON.stringify({ prompt_id: promptId, number: 1, node_errors: [], error: null });
  await expect(postPrompt(await serve({ body }), prompt, { signal })).resolves.toBeUndefined();
});

test.each([
  ["in another form", '{"success":true}'],
  ["without a body", ""],
  ["and does nothing", '{"cancelled":true}'],
])("F36 a prompt is stopped by the older routes where a newer one answers %s", async (_name, body) => {
  let isRunning = true;
  const server = await serveAnswers(({ path, method }) => {
    if (path.endsWith("/cancel")) return { body };
    if (path === "/interrupt") isRunning = false;
    const queue_running = isRunning ? [[1, promptId, {}]] : [];
    return method === "POST" ? {} : { body: JSON.stringify({ queue_running, queue_pending: [] }) };
  });
  closers.push(() => server.close());
  await cancelPrompt(server, promptId, { signal: new AbortController().signal });
  expect(server.requests.map(({ path }) => path)).toContain("/interrupt");
});

test("A12 one device, one size or one length that cannot be read hides nothing else", async () => {
  const devices = [null, { name: "cuda:0", type: "cuda", vram_total: 8 * 2 ** 30, vram_free: "?" }];
  const stats = { system: { comfyui_version: 7, ram_total: "64 GB", ram_free: 1 }, devices };
  const server = await serve({ body: JSON.stringify(stats) });
  expect(await readSystemStats(server, { signal })).toEqual({
    version: null,
    ramTotalBytes: null,
    ramFreeBytes: 1,
    devices: [{ name: "cuda:0", type: "cuda", vramTotalBytes: 8 * 2 ** 30, vramFreeBytes: null }],
  });
  const length = await serve({ body: '{"exec_info":{"queue_remaining":null}}' });
  expect(await readQueueLength(length, { signal })).toBeNull();
});
