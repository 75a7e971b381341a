import sharp from "sharp";
import { expect, test } from "vitest";
import { textChunks, withChunksBehindHeader } from "./png-write.ts";

async function joined(parts: readonly Buffer[], chunks: Buffer): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const part of withChunksBehindHeader(partsOf(parts), chunks)) all.push(part);
  return Buffer.concat(all);
}

async function* partsOf(parts: readonly Buffer[]) {
  for (const part of parts) yield await Promise.resolve(part);
}

const cut = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );

test("texts stand behind the header of a PNG, in whatever parts it is read", async () => {
  const background = { r: 9, g: 8, b: 7 };
  const png = await sharp({ create: { width: 40, height: 30, channels: 3, background } })
    .png()
    .toBuffer();
  const chunks = textChunks([
    { keyword: "parameters", text: "ein Bär" },
    { keyword: "atelier", text: "{}" },
  ]);
  const whole = await joined([png], chunks);
  const { comments } = await sharp(whole).metadata();
  expect(comments).toEqual([
    { keyword: "parameters", text: "ein Bär" },
    { keyword: "atelier", text: "{}" },
  ]);
  expect((await sharp(whole).raw().toBuffer()).equals(await sharp(png).raw().toBuffer())).toBe(true);
  for (const size of [1, 7, 32, 33, 34, 1_000])
    expect((await joined(cut(png, size), chunks)).equals(whole)).toBe(true);
});

test("a file that ends in its header gets none", async () => {
  const start = Buffer.alloc(20, 1);
  expect(await joined([start], textChunks([{ keyword: "a", text: "b" }]))).toEqual(start);
});
