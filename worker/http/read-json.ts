import type { IncomingMessage } from "node:http";
import { AppError } from "@atelier/server/platform";

/** Far above two of the longest prompts. */
export const maxBodyBytes = 65_536;

/** The JSON body of a request. Throws `bad_request`, and `request_too_large` without reading on. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!request.headers["content-type"]?.startsWith("application/json"))
    throw new AppError("bad_request", "Send the body as application/json.");
  if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) throw new AppError("request_too_large");
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  // The request stays open when the loop is left, so that the refusal can still be read.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBodyBytes) throw new AppError("request_too_large");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (cause) {
    throw new AppError("bad_request", "The body is not valid JSON.", { cause });
  }
}
