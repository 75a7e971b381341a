import { writeFile } from "node:fs/promises";
import type { Sharp } from "sharp";

/** As `toFile`, but a full disk fails with the code of the system; the library has only a message for it. */
export async function writeSharp(picture: Sharp, file: string): Promise<void> {
  await writeFile(file, await picture.toBuffer());
}
