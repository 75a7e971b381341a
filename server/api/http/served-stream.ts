import type { Readable } from "node:stream";

/**
 * The body of an answer; `onServed` is called when the reader asks for more after the last byte, and not when it leaves
 * before. Nothing is read ahead of the reader, and leaving closes the source.
 */
export function servedStream(source: Readable, onServed: () => Promise<void>): ReadableStream<Uint8Array> {
  // Errors reach the reader by `next`; before its first read nobody would listen.
  source.on("error", () => undefined);
  const pieces = source[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  let hasLeft = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (hasLeft) return;
        if (!done) {
          controller.enqueue(value);
          return;
        }
        controller.close();
        void onServed();
      },
      cancel() {
        hasLeft = true;
        source.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}
