import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { AppError } from "@atelier/server/platform";
import type { CallOptions, ComfyServer, ServerFile } from "./comfy-server.ts";
import { boundedChunks, readBody } from "./read-body.ts";
import { refusalOf } from "./refusal.ts";
import { send } from "./http.ts";

const timeoutMs = 120_000;
const refusalBytes = 64 * 1024;

export interface View {
  readonly file: ServerFile;
  /** Where it is written. */
  readonly target: string;
  readonly maxBytes: number;
}

/** Downloads a file of the server. Throws `engine_failed` when it is gone or longer than `maxBytes`. */
export async function viewImage(server: ComfyServer, view: View, options: CallOptions): Promise<void> {
  const { filename, subfolder, type } = view.file;
  const request = { path: "view", query: { filename, subfolder, type } };
  const read = async (response: Response) => {
    if (response.status !== 200) throw await refuse(response);
    await pipeline(boundedChunks(response, view.maxBytes), createWriteStream(view.target));
  };
  await send(server, request, { options: { timeoutMs, ...options }, read });
}

async function refuse(response: Response): Promise<AppError> {
  const { status, headers } = response;
  const text = (await readBody(response, refusalBytes)).toString("utf8");
  const contentType = headers.get("content-type") ?? "";
  const refusal = refusalOf({ status, contentType, text });
  if (status !== 404 || contentType.includes("html")) return refusal;
  return new AppError("engine_failed", "The server no longer has the picture that it made.", {
    details: { status },
  });
}
