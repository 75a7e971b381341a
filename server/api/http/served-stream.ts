import { Readable } from "node:stream";

/** The body of an answer; `onServed` is called once its last byte was taken, and not when the client leaves before. */
export function servedStream(source: Readable, onServed: () => Promise<void>): ReadableStream<Uint8Array> {
  source.once("end", () => void onServed());
  // Node's and the DOM's types of the same stream differ in name only.
  return Readable.toWeb(source) as ReadableStream<Uint8Array>;
}
