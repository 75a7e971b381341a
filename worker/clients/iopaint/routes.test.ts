import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { serveAnswers, type GivenAnswer } from "@atelier/testing/http";
import { afterEach, expect, test } from "vitest";
import { inpaint, readModel, readServerConfig } from "./routes.ts";

const options = { signal: new AbortController().signal, timeoutMs: 10_000 };
const pictures = { image: Buffer.from("image"), mask: Buffer.from("mask") };
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(answer: GivenAnswer) {
  const server = await serveAnswers(() => answer);
  closers.push(() => server.close());
  return server;
}

test.each([
  ["a proxy's limit of bodies", { status: 413, type: "text/html", body: "<html>" }, "request_too_large"],
  ["a limit of its own", { status: 413, body: '{"detail":"too large"}' }, "request_too_large"],
  ["a page of a proxy", { status: 502, type: "text/html", body: "<html>" }, "proxy_error"],
  ["a timeout of Cloudflare, in JSON", { status: 524, body: '{"title":"Error 524"}' }, "proxy_error"],
  ["an overload", { status: 503, body: '{"detail":"busy"}' }, "server_busy"],
  ["no such plugin", { status: 422, body: '{"detail":"Plugin not found"}' }, "node_missing"],
] as const)("D8 an answer that is %s", async (_name, answer, code) => {
  await expect(inpaint(await serve(answer), pictures, options)).rejects.toMatchObject({ code });
});

test("a server that was never there is not said to have gone away", async () => {
  const gone = await serve({ status: 200, body: "{}" });
  await gone.close();
  const answer = readModel(gone, options);
  const message = "The server cannot be reached.";
  await expect(answer).rejects.toMatchObject({
    code: "server_lost",
    message,
    details: { reason: "refused" },
  });
  await expect(inpaint(gone, pictures, options)).rejects.toMatchObject({ message });
});

test("D8 a proxy that switches the protocol, and holds or ends the connection then, is no answer", async () => {
  for (const isHeld of [false, true]) {
    const server = net.createServer((socket) => {
      socket
        .on("error", () => undefined)
        .once("data", () => {
          socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n");
          if (!isHeld) socket.end();
        });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closers.push(() => new Promise((resolve) => server.close(() => resolve())));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(readModel({ url }, options)).rejects.toMatchObject({ code: "server_lost" });
  }
});

test("the exception of a failure is kept for admins, as one line", async () => {
  const body = JSON.stringify({ error: "RuntimeError", detail: "", errors: "PytorchStreamReader\nfailed" });
  const answer = inpaint(await serve({ status: 500, body }), pictures, options);
  const details = { status: 500, exception: "RuntimeError: PytorchStreamReader failed" };
  await expect(answer).rejects.toMatchObject({ code: "engine_failed", details });
});

test.each([
  [{ detail: "Plugin not found" }, "Plugin not found"],
  [{ detail: [{ loc: ["body", "hd_strategy"], msg: "Input should be 'Crop'" }, {}] }, ""],
  [
    { detail: [{ loc: ["body", "clicks", 0], msg: "Field required", type: "missing" }] },
    "body.clicks.0: Field required",
  ],
  [{ detail: { why: "no" } }, ""],
])(
  "what a newer server says of a request that it does not take is kept for admins: %j",
  async (body, exception) => {
    const answer = inpaint(await serve({ status: 422, body: JSON.stringify(body) }), pictures, options);
    const details = { status: 422, ...(exception ? { exception } : {}) };
    await expect(answer).rejects.toMatchObject({ code: "node_missing", details });
  },
);

test("one plugin, model or flag in another form hides nothing else", async () => {
  const upscaler = { name: "RealESRGAN", support_gen_image: true, support_gen_mask: null };
  const config = {
    plugins: ["RemoveBG", null, upscaler, { name: 7 }],
    removeBGModel: {},
    realesrganModel: "x4",
  };
  const server = await serve({ body: JSON.stringify(config) });
  expect(await readServerConfig(server, options)).toEqual({
    plugins: ["RealESRGAN"],
    maskPlugins: [],
    pluginModels: ["x4"],
  });
  const model = await serve({ body: '{"name":"lama","need_prompt":null,"controlnets":NaN}' });
  expect(await readModel(model, options)).toEqual({ name: "lama", needsPrompt: false });
});

test("D8 of an error without end only the start is read", async () => {
  const server = http.createServer((request, response) => {
    request.resume();
    response.writeHead(502, { "content-type": "text/html" });
    Readable.from(endless()).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const answer = inpaint({ url: `http://127.0.0.1:${port}` }, pictures, options);
  await expect(answer).rejects.toMatchObject({ code: "proxy_error", details: { status: 502 } });
});

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(16 * 1024, "x");
}
