import sharp from "sharp";
import { expect, test } from "vitest";
import { textChunks, withChunksBehindHeader } from "./png-write.ts";

test("texts stand behind the header of a PNG", async () => {
  const background = { r: 9, g: 8, b: 7 };
  const png = await sharp({ create: { width: 40, height: 30, channels: 3, background } })
    .png()
    .toBuffer();
  const chunks = textChunks([
    { keyword: "parameters", text: "ein Bär" },
    { keyword: "atelier", text: "{}" },
  ]);
  const whole = withChunksBehindHeader(png, chunks);
  const { comments } = await sharp(whole).metadata();
  expect(comments).toEqual([
    { keyword: "parameters", text: "ein Bär" },
    { keyword: "atelier", text: "{}" },
  ]);
  expect((await sharp(whole).raw().toBuffer()).equals(await sharp(png).raw().toBuffer())).toBe(true);
});

test("a file that ends in its header gets none", () => {
  const start = Buffer.alloc(20, 1);
  expect(withChunksBehindHeader(start, textChunks([{ keyword: "a", text: "b" }]))).toEqual(start);
});
