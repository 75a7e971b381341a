import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { eq } from "drizzle-orm";
import sharp from "sharp";
import type { Sharp } from "sharp";
import { schema } from "@atelier/server/db";
import type { Variant } from "@atelier/server/images";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";

/** Adds a user with nothing but an id; returns the id. */
export function addUser(services: Pick<Services, "db">): Promise<string> {
  return insert(services, false);
}

export function addGuest(services: Pick<Services, "db">): Promise<string> {
  return insert(services, true);
}

async function insert({ db }: Pick<Services, "db">, isAnonymous: boolean): Promise<string> {
  const id = newId();
  await db.insert(schema.users).values({ id, name: "Test", email: `${id}@test.invalid`, isAnonymous });
  return id;
}

/** The same JPEG with a segment put right behind its SOI. */
export function withJpegSegment(jpeg: Buffer, marker: number, payload: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(payload.length + 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), head, payload, jpeg.subarray(2)]);
}

/** The same JPEG with another size in its frame header. */
export function withJpegSize(jpeg: Buffer, size: { widthPx: number; heightPx: number }): Buffer {
  const changed = Buffer.from(jpeg);
  const frame = changed.findIndex((byte, at) => byte === 0xff && isFrame(changed[at + 1]));
  changed.writeUInt16BE(size.heightPx, frame + 5);
  changed.writeUInt16BE(size.widthPx, frame + 7);
  return changed;
}

function isFrame(marker: number | undefined): boolean {
  return marker === 0xc0 || marker === 0xc2;
}

/** Keys of all objects of pictures, sorted; read from the disk itself. */
export async function listObjects({ env }: Pick<Services, "env">): Promise<string[]> {
  const root = path.resolve(env.ATELIER_DATA_DIR, "files");
  return (await listFiles(root)).filter((key) => key !== "studio/mark");
}

/** Temporary files that are left, sorted. */
export async function listTempFiles({ env }: Pick<Services, "env">): Promise<string[]> {
  return listFiles(path.resolve(env.ATELIER_DATA_DIR, "tmp"));
}

async function listFiles(root: string): Promise<string[]> {
  try {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))).sort();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** One chunk with its right checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

/** IHDR of an 8-bit RGB picture. */
export function pngHeader(widthPx: number, heightPx: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(widthPx, 0);
  data.writeUInt32BE(heightPx, 4);
  data[8] = 8;
  data[9] = 2;
  return pngChunk("IHDR", data);
}

/** A file of these chunks between signature and IEND. */
export function pngFile(...chunks: readonly Buffer[]): Buffer {
  return Buffer.concat([signature, ...chunks, pngChunk("IEND", Buffer.alloc(0))]);
}

/** The same PNG with a chunk put right behind its IHDR. */
export function withPngChunk(png: Buffer, chunk: Buffer): Buffer {
  const afterHeader = 8 + 25;
  return Buffer.concat([png.subarray(0, afterHeader), chunk, png.subarray(afterHeader)]);
}

/** The same PNG with texts that inflate to 600 MB, in 590 kB. */
export function withTextBombs(png: Buffer): Buffer {
  const text = deflateSync(Buffer.alloc(50_000_000, 0x61));
  const chunk = pngChunk("zTXt", Buffer.concat([Buffer.from("parameters\0\0"), text]));
  return withPngChunk(png, Buffer.concat(Array.from({ length: 12 }, () => chunk)));
}

/** How much further the memory of this process went than ever before, MB. */
export async function grownBy(work: () => unknown): Promise<number> {
  const before = process.resourceUsage().maxRSS;
  await work();
  return (process.resourceUsage().maxRSS - before) / 1_000;
}

type Stored = Pick<Services, "db" | "disk">;

/** The row of a picture; throws when there is none. */
export async function readRow({ db }: Pick<Stored, "db">, id: string) {
  const [row] = await db.select().from(schema.images).where(eq(schema.images.id, id));
  if (!row) throw new Error(`there is no picture ${id}`);
  return row;
}

export function rowsOf({ db }: Pick<Stored, "db">, ownerId: string) {
  return db.select().from(schema.images).where(eq(schema.images.ownerId, ownerId));
}

/** The bytes of one file of a picture, found by its name in the store. */
export async function readFileOf(services: Stored, id: string, variant: Variant): Promise<Buffer> {
  const { storageKey } = await readRow(services, id);
  const { objects } = await services.disk.listAll(storageKey);
  const found = [...objects].find((object) => object.name.startsWith(`${variant}.`));
  if (!found?.isFile) throw new Error(`picture ${id} has no ${variant}`);
  return Buffer.from(await services.disk.getBytes(found.key));
}

const folder = path.join(import.meta.dirname, "../../public/samples");

/** The bytes of a picture of public/samples. */
export function readSample(name: string): Promise<Buffer> {
  return readFile(path.join(folder, name));
}

/** A picture in which every corner has another colour, so that its orientation can be told. */
export function cornersPicture(widthPx: number, heightPx: number): Sharp {
  const data = Buffer.alloc(widthPx * heightPx * 3);
  for (let y = 0; y < heightPx; y += 1) {
    for (let x = 0; x < widthPx; x += 1) {
      const colour = cornerColours[(y * 2 < heightPx ? 0 : 2) + (x * 2 < widthPx ? 0 : 1)];
      data.set(colour ?? [0, 0, 0], (y * widthPx + x) * 3);
    }
  }
  return sharp(data, { raw: { width: widthPx, height: heightPx, channels: 3 } });
}

/** Top left red, top right green, bottom left blue, bottom right white. */
const cornerColours = [
  [255, 0, 0],
  [0, 255, 0],
  [0, 0, 255],
  [255, 255, 255],
];

/** Names of the corners' colours, from the top left, row by row. */
export async function readCorners(picture: Buffer): Promise<string[]> {
  const { data, info } = await sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => nameOf(data.subarray((y * info.width + x) * info.channels));
  const [right, bottom] = [info.width - 3, info.height - 3];
  return [at(2, 2), at(right, 2), at(2, bottom), at(right, bottom)];
}

function nameOf(pixel: Buffer): string {
  const [red, green, blue] = [...pixel.subarray(0, 3)].map((sample) => sample > 127);
  if (red && green && blue) return "white";
  if (red) return "red";
  if (green) return "green";
  return blue ? "blue" : "black";
}

/** Reads the IPTC Digital Source Type out of a picture's XMP; null when it carries none. */
export async function readDigitalSourceType(bytes: Buffer): Promise<string | null> {
  const { xmpAsString } = await sharp(bytes).metadata();
  const match = /DigitalSourceType(?:="|>)([^"<]+)/.exec(xmpAsString ?? "");
  return match?.[1] ?? null;
}
