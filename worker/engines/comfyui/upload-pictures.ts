import { openAsBlob } from "node:fs";
import type { InputRole } from "@atelier/server/engines";
import { uploadImage, type ComfyServer } from "./client/index.ts";
import sharp from "sharp";
import type { EngineTask } from "../port.ts";

/** Servers have no route that deletes files; in a folder of its own they can be cleared from time to time. */
const subfolder = "atelier";

interface Pictures {
  readonly files: EngineTask["inputs"];
  /** Unlike that of any other run: servers keep what they loaded by name. */
  readonly name: string;
}

/** Gives a server the pictures of a run; their names there by role. */
export async function uploadPictures(
  server: ComfyServer,
  { files, name }: Pictures,
  signal: AbortSignal,
): Promise<Partial<Record<InputRole, string>>> {
  const names: Partial<Record<InputRole, string>> = {};
  for (const [role, file] of Object.entries(files) as [InputRole, string][]) {
    const { format } = await sharp(file, { limitInputPixels: false }).metadata();
    const upload = { image: await openAsBlob(file), name: `${name}-${role}.${format}`, subfolder };
    names[role] = await uploadImage(server, upload, { signal });
  }
  return names;
}
