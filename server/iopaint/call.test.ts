import { serveAnswers, type GivenAnswer } from "@atelier/testing/http";
import { afterEach, expect, test } from "vitest";
import { inpaint } from "./inpaint.ts";

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
  ["no such plugin", { status: 422, body: '{"detail":"Plugin not found"}' }, "node_missing"],
] as const)("D8 an answer that is %s", async (_name, answer, code) => {
  await expect(inpaint(await serve(answer), pictures, options)).rejects.toMatchObject({ code });
});
