import { z } from "zod";
import { ask, jsonOf } from "./ask.ts";
import type { CallOptions, ComfyServer } from "./comfy-server.ts";

const uploadSchema = z.object({ name: z.string(), subfolder: z.string().default("") });
const timeoutMs = 120_000;

export interface Upload {
  readonly image: Blob;
  readonly name: string;
  readonly subfolder: string;
}

/** Stores a picture in the server's input folder, over one of the same name. Returns the value that LoadImage takes. */
export async function uploadImage(
  server: ComfyServer,
  upload: Upload,
  options: CallOptions,
): Promise<string> {
  const form = new FormData();
  form.set("image", upload.image, upload.name);
  form.set("type", "input");
  form.set("subfolder", upload.subfolder);
  form.set("overwrite", "true");
  const answer = await ask(server, { path: "upload/image", form }, { timeoutMs, ...options });
  const { name, subfolder } = jsonOf(answer, uploadSchema);
  return subfolder ? `${subfolder}/${name}` : name;
}
