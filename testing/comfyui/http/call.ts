import type { IncomingMessage } from "node:http";
import type { Comfy } from "../server/comfy.ts";
import type { Answer } from "./answer.ts";

/** A request on its way to its route. */
export interface Call {
  readonly comfy: Comfy;
  readonly method: string;
  /** Without the prefix "/api". */
  readonly path: string;
  /** What the route's pattern caught. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  /** Throws TooLarge beyond 100 MB. */
  readBody(): Promise<Buffer>;
}

export type Handler = (call: Call) => Promise<Answer> | Answer;

export class TooLarge extends Error {}

const mostBytes = 104_857_600;

/** Reads the whole body. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    sizeBytes += bytes.length;
    if (sizeBytes > mostBytes) throw new TooLarge(String(sizeBytes));
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
