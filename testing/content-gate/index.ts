import { createHash } from "node:crypto";
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gateModel } from "@atelier/server/gate";
import { modelPath } from "@atelier/server/models";
import sharp from "sharp";

/**
 * An ONNX model with the input and output of the real one: means of the channels, a product, a softmax. Its score is
 * 1 / (1 + e^((green - red - 6) / 16)), so red pictures are refused and green ones are not.
 */
const tinyModel =
  "CAcSADrjAQo4CgdpbnB1dF8wEgFtIgpSZWR1Y2VNZWFuKg0KBGF4ZXNAAUACoAEHKg8KCGtlZXBkaW1zGACgAQIKEQoBbQoBdxIBbCIGTWF0TXVsCiUKAWwSAXAiB1NvZnRtYXgqFAoEYXhpcxj///////////8BoAECEgR0aW55KiMIAwgCEAFCAXdKGAAAAAAAAAAAAAAAAAAAgL0AAAAAAACAPVooCgdpbnB1dF8wEh0KGwgBEhcKBxIFYmF0Y2gKAwjgAQoDCOABCgIIA2IYCgFwEhMKEQgBEg0KBxIFYmF0Y2gKAggCQgQKABAN";

/** Puts a model of the gate that sees only colours to where the added one stands; this process then knows it as the very model. */
export async function addTinyGateModel(env: { readonly ATELIER_DATA_DIR: string }): Promise<void> {
  const file = modelPath(env, gateModel);
  await mkdir(path.dirname(file), { recursive: true });
  const bytes = Buffer.from(tinyModel, "base64");
  await writeFile(file, bytes);
  Object.assign(gateModel, { sha256: createHash("sha256").update(bytes).digest("hex") });
}

/** A picture that this model refuses, and one that it does not. */
export const pictureOf = (colour: "red" | "green"): Promise<Buffer> =>
  sharp({ create: { width: 48, height: 32, channels: 3, background: colour } })
    .png()
    .toBuffer();

/** A file that gives no byte to who reads it, until `end`; `isRead` once somebody does. */
export async function silentPicture(file: string) {
  await promisify(execFile)("mkfifo", [file]);
  const isRead = openedBySomeone(file);
  return { file, isRead, end: async () => (await isRead).close() };
}

/** A pipe is opened for writing once it has a reader. */
async function openedBySomeone(file: string): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(file, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if (Object(error).code !== "ENXIO") throw error;
    }
    await sleep(20);
  }
}
