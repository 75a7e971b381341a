import { crc32 } from "node:zlib";

const headerEnd = 8 + 25;

/** Adds tEXt chunks behind the header, as Pillow does with the prompt of a job. */
export function addPngText(png: Buffer, texts: Readonly<Record<string, string>>): Buffer {
  const chunks = Object.entries(texts).map(([key, text]) => textChunk(key, text));
  return Buffer.concat([png.subarray(0, headerEnd), ...chunks, png.subarray(headerEnd)]);
}

function textChunk(key: string, text: string): Buffer {
  const body = Buffer.concat([Buffer.from("tEXt"), Buffer.from(`${key}\0${toAscii(text)}`, "latin1")]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(body.length - 4, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

// Python's json.dumps writes everything beyond ASCII as \uXXXX.
function toAscii(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
