import { AsyncResource } from "node:async_hooks";
import { Readable } from "node:stream";
import type { Services } from "../../services.ts";
import { servedStream } from "../http/streams.ts";

/** Base64 of a stream, in pieces that put together are the base64 of its whole content. */
export async function* base64Of(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of source) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : Buffer.from(chunk);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield bytes.toString("base64", 0, whole);
    rest = bytes.subarray(whole);
  }
  if (rest.length > 0) yield rest.toString("base64");
}

/** Length of the base64 of so many bytes. */
export function base64Length(sizeBytes: number): number {
  return Math.ceil(sizeBytes / 3) * 4;
}

interface Sending {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** After the last byte was taken. */
  onServed(): Promise<void>;
  /** When the reader left before. */
  onLeft?(): Promise<void>;
}

/** A JSON answer in pieces of text, which are made as the reader takes them. */
export function sendJson(
  services: Pick<Services, "later">,
  pieces: AsyncIterable<string> | Iterable<string>,
  sending: Sending,
): Response {
  const source = Readable.from(toBytes(pieces), { objectMode: true, highWaterMark: 1 });
  // Bound to the request: the stream is closed by calls from elsewhere, and `later` asks the platform of the request.
  const left = AsyncResource.bind(() => services.later(sending.onLeft?.() ?? Promise.resolve()));
  source.on("close", () => {
    if (!source.readableEnded) left();
  });
  return new Response(
    servedStream(services, source, () => sending.onServed()),
    {
      status: sending.status ?? 200,
      headers: { "content-type": "application/json", "cache-control": "no-store", ...sending.headers },
    },
  );
}

async function* toBytes(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
