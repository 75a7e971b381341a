import { AppError } from "@atelier/server/platform";

/** The whole body. Throws `engine_failed` when it is longer than `maxBytes`. */
export async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of boundedChunks(response, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The body piece by piece; ends with `engine_failed` as soon as it passes `maxBytes`. */
export async function* boundedChunks(response: Response, maxBytes: number): AsyncGenerator<Uint8Array> {
  let sizeBytes = 0;
  if (!response.body) return;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) {
      throw new AppError("engine_failed", "The server's answer is too large.", { details: { maxBytes } });
    }
    yield chunk;
  }
}
