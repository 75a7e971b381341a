import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

export type Handle = (request: Request) => Promise<Response> | Response;

/** How a body gets to the socket. */
export type Pipe = (body: ReadableStream<Uint8Array>, response: ServerResponse) => Promise<void>;

const pipe: Pipe = (body, response) => pipeline(body as unknown as Readable, response);

/**
 * A listener of `http.createServer` that answers by a function of the product, as the web server does: the signal of the
 * request aborts when the client leaves, and a client that has left is no error.
 */
export function answerBy(handle: Handle, pipeBody: Pipe = pipe) {
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const left = new AbortController();
    response.once("close", () => left.abort());
    const { method = "GET", headers, url = "/" } = incoming;
    const body = method === "GET" || method === "HEAD" ? null : new Uint8Array(await buffer(incoming));
    const request = new Request(new URL(url, `http://${headers.host ?? "127.0.0.1"}`), {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      body,
      signal: left.signal,
    });
    const answered = await handle(request);
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    response.flushHeaders();
    if (answered.body) await pipeBody(answered.body, response);
    else response.end();
  };
  return (incoming: IncomingMessage, response: ServerResponse): void => {
    answer(incoming, response).catch(() => response.destroy());
  };
}
