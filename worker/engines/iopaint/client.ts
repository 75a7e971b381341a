import http from "node:http";
import https from "node:https";
import { AppError } from "@atelier/server/platform";

export interface SentRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent by POST as JSON; null for GET. */
  readonly body: string | null;
  /** Longest good answer. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  /** Of any status but 200 the first 64 KiB or a little more. */
  readonly bytes: Buffer;
}

/**
 * One request on a connection of its own. Not `fetch`, which gives up when the first byte takes five minutes: this
 * server says nothing until the picture is done.
 */
export function send({ url, headers, body, maxBytes, signal }: SentRequest): Promise<Answer> {
  const { request } = url.startsWith("https:") ? https : http;
  const type =
    body === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const options = {
      method: body === null ? "GET" : "POST",
      headers: { ...headers, ...type },
      agent: false,
      signal,
    };
    const sent = request(url, options, (response) => {
      const status = response.statusCode ?? 0;
      const read = status === 200 ? readBody(response, maxBytes) : readStart(response);
      read.then((bytes) => resolve({ status, bytes }), reject);
    });
    sent.on("error", reject);
    sent.end(body ?? undefined);
  });
}

const enoughBytes = 64 * 1024;

/** What went wrong stands at the start; leaving the loop closes the connection. */
async function readStart(response: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > enoughBytes) break;
  }
  return Buffer.concat(chunks);
}

async function readBody(response: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new AppError("engine_failed", "The server's answer is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
