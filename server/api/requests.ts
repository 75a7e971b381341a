export interface DrainBounds {
  readonly maxBytes: number;
  readonly maxMs: number;
}

/** All that an upload may have, and the time for it on a slow line. */
const usualBounds: DrainBounds = { maxBytes: 520 * 1_048_576, maxMs: 30_000 };

/**
 * The same request, whose body is read to its end and thrown away when the handler leaves it: the HTTP server stops
 * reading a connection with a cancelled body, and the next request on it would hang until it is reset.
 */
export function withDrainedBody(request: Request, bounds: DrainBounds = usualBounds): Request {
  const { body, method, headers, signal } = request;
  if (!body) return request;
  const reader = body.getReader();
  const kept = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        // Not awaited: the answer goes out while the rest comes in.
        void drain(reader, bounds);
      },
    },
    { highWaterMark: 0 },
  );
  // Node asks for it with a streamed body; the DOM's types do not know it.
  const halfDuplex = { duplex: "half" };
  return new Request(request.url, { method, headers, signal, body: kept, ...halfDuplex });
}

/** A client that sends more, or too slowly, loses its connection: what it sends next could not be read anyway. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>, bounds: DrainBounds): Promise<void> {
  const late = AbortSignal.timeout(bounds.maxMs);
  const stop = () => void reader.cancel().catch(() => undefined);
  late.addEventListener("abort", stop, { once: true });
  let sizeBytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      sizeBytes += value.byteLength;
      if (sizeBytes > bounds.maxBytes) return stop();
    }
  } catch {
    // The client has gone.
  } finally {
    late.removeEventListener("abort", stop);
  }
}
