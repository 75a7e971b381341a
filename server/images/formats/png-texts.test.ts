import { deflateSync } from "node:zlib";
import { grownBy } from "@atelier/testing/pictures";
import sharp from "sharp";
import { beforeAll, expect, test } from "vitest";
import { toDecodable } from "../inspect.ts";
import { pngChunk, pngChunks } from "./png.ts";
import { withChunksBehindHeader } from "./png-write.ts";
import { readPngTexts, withoutBombs } from "./png-texts.ts";

/** 50 MB of one letter in 49 kB. */
const bomb = deflateSync(Buffer.alloc(50_000_000, 0x61));
const harmless = deflateSync(Buffer.alloc(1_500_000));
let plain: Buffer;

beforeAll(async () => {
  const ground = { width: 16, height: 16, channels: 3, background: "#345" } as const;
  plain = await sharp({ create: ground }).png().toBuffer();
});

const zTXt = (keyword: string, data: Buffer) =>
  pngChunk("zTXt", Buffer.concat([Buffer.from(`${keyword}\0\0`), data]));
const iTXt = (keyword: string, data: Buffer, isDeflated = true) =>
  pngChunk(
    "iTXt",
    Buffer.concat([Buffer.from(`${keyword}\0${isDeflated ? "\u0001" : "\0"}\0de\0Wort\0`), data]),
  );
const iCCP = (data: Buffer) => pngChunk("iCCP", Buffer.concat([Buffer.from("p\0\0"), data]));
const tEXt = (keyword: string, text: string) => pngChunk("tEXt", Buffer.from(`${keyword}\0${text}`));
const withChunks = (...chunks: Buffer[]) => withChunksBehindHeader(plain, Buffer.concat(chunks));
const typesOf = (bytes: Buffer) =>
  pngChunks(bytes)
    .map(({ type }) => type)
    .toArray();

const bombs = {
  "deflated texts": () => Array.from({ length: 12 }, (_none, at) => zTXt(`t${at}`, bomb)),
  "deflated texts of another language": () => Array.from({ length: 12 }, (_none, at) => iTXt(`t${at}`, bomb)),
  "many texts that are harmless alone": () =>
    Array.from({ length: 5_000 }, (_none, at) => zTXt(`t${at}`, harmless)),
  "a profile": () => [iCCP(bomb)],
  "many profiles": () => Array.from({ length: 5_000 }, () => iCCP(harmless)),
};

test.each(Object.entries(bombs))("S6 no decoder gets %s that fill the memory", async (_what, chunks) => {
  const file = withChunks(tEXt("parameters", "a house"), ...chunks());
  const readPixels = async (bytes: Buffer) => {
    await sharp(bytes).metadata();
    await sharp(bytes).stats();
  };
  expect(await grownBy(async () => readPixels(withoutBombs(file)))).toBeLessThan(150);
  expect(await grownBy(async () => readPixels(await toDecodable(file)))).toBeLessThan(150);
  expect(readPngTexts(file)[0]).toEqual({ keyword: "parameters", text: "a house" });
  expect(readPngTexts(file).reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(9_000_000);
});

test("texts that a program wrote stay in the file as they are, and are read", () => {
  const workflow = `{"nodes":"${"n".repeat(3_000_000)}"}`;
  const texts = [tEXt("workflow", workflow), zTXt("prompt", deflateSync(Buffer.from("ein Häuschen")))];
  const file = withChunks(
    ...texts,
    iTXt("Title", Buffer.from("дом"), false),
    iTXt("Comment", deflateSync(Buffer.from("房子"))),
  );
  expect(withoutBombs(file)).toBe(file);
  expect(readPngTexts(file)).toEqual([
    { keyword: "prompt", text: "ein Häuschen" },
    { keyword: "Title", text: "дом" },
    { keyword: "Comment", text: "房子" },
  ]);
});

test("a text that is no UTF-8 is read as Latin-1, and damaged ones are left out", () => {
  const latin = pngChunk("tEXt", Buffer.from("Author\0Jos\u00e9", "latin1"));
  const damaged = [
    zTXt("a", Buffer.from("no zlib")),
    pngChunk("iTXt", Buffer.from("b\0")),
    pngChunk("tEXt", Buffer.from("c")),
  ];
  const file = withChunks(...damaged, latin);
  expect(readPngTexts(file)).toEqual([{ keyword: "Author", text: "José" }]);
  expect(typesOf(withoutBombs(file))).toEqual(
    typesOf(file).filter((type) => type !== "zTXt" && type !== "iTXt"),
  );
});

test("what is no PNG is handed on as it is, and a damaged one is refused", () => {
  const other = Buffer.from("RIFF....WEBP");
  expect(withoutBombs(other)).toBe(other);
  expect(() => withoutBombs(plain.subarray(0, 30))).toThrow(
    expect.objectContaining({ code: "upload_unreadable" }),
  );
});
