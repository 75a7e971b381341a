import { crc32, inflateRawSync } from "node:zlib";

const endSignature = 0x06054b50;
const endLength = 22;

/**
 * The files of a zip by name, read as other programs do: from the directory at its end. Throws for a zip that broke off, and
 * for an entry whose bytes are not those of its checksum.
 */
export function readZip(bytes: Buffer): Map<string, Buffer> {
  const end = bytes.length - endLength;
  if (end < 0 || bytes.readUInt32LE(end) !== endSignature) throw new Error("no directory at the end");
  const files = new Map<string, Buffer>();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [nameLength, extraLength] = [bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30)];
    const name = bytes.toString("utf8", at + 46, at + 46 + nameLength);
    if (files.has(name)) throw new Error(`${name} is there twice`);
    files.set(name, contentOf(bytes, at));
    at += 46 + nameLength + extraLength + bytes.readUInt16LE(at + 32);
  }
  return files;
}

function contentOf(bytes: Buffer, entry: number): Buffer {
  const local = bytes.readUInt32LE(entry + 42);
  const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
  const stored = bytes.subarray(start, start + bytes.readUInt32LE(entry + 20));
  const content = bytes.readUInt16LE(entry + 10) === 0 ? stored : inflateRawSync(stored);
  if (crc32(content) !== bytes.readUInt32LE(entry + 16)) throw new Error("an entry is damaged");
  return content;
}
