import { crc32, inflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { encodeGreyPng, requireMarked } from "./export.ts";

describe("grey png", () => {
  interface Chunk {
    readonly type: string;
    readonly data: Buffer;
  }

  function* readChunks(png: Buffer): Generator<Chunk> {
    for (let at = 8; at < png.length;) {
      const length = png.readUInt32BE(at);
      const body = png.subarray(at + 4, at + 8 + length);
      expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body));
      yield { type: body.toString("latin1", 0, 4), data: body.subarray(4) };
      at += length + 12;
    }
  }

  test("a mask is a grey 8-bit PNG that reads back bit for bit", async () => {
    const widthPx = 37;
    const heightPx = 23;
    const pixels = Uint8Array.from({ length: widthPx * heightPx }, (_, index) => (index * 31) % 256);
    const bands = [pixels.slice(0, widthPx * 10), pixels.slice(widthPx * 10)];
    const blob = await encodeGreyPng(widthPx, heightPx, bands);
    const [header, body, end] = [...readChunks(Buffer.from(await blob.arrayBuffer()))];

    expect([header?.type, body?.type, end?.type]).toEqual(["IHDR", "IDAT", "IEND"]);
    expect([header?.data.readUInt32BE(0), header?.data.readUInt32BE(4)]).toEqual([widthPx, heightPx]);
    expect([...(header?.data.subarray(8) ?? [])]).toEqual([8, 0, 0, 0, 0]);

    const rows = inflateSync(body?.data ?? Buffer.alloc(0));
    for (let row = 0; row < heightPx; row += 1) {
      const at = row * (widthPx + 1);
      expect(rows[at]).toBe(0);
      expect([...rows.subarray(at + 1, at + 1 + widthPx)]).toEqual([
        ...pixels.subarray(row * widthPx, (row + 1) * widthPx),
      ]);
    }
  });
});

test("a mask without a pixel of at least half of white is refused as empty before it is sent", async () => {
  const encode = (grey: number) =>
    encodeGreyPng(2, 2, requireMarked([Uint8Array.of(0, 0), Uint8Array.of(0, grey)]));
  expect((await encode(128)).size).toBeGreaterThan(0);
  await expect(encode(127)).rejects.toMatchObject({ code: "mask_empty" });
});
