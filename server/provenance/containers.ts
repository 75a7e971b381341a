import { createHash } from "node:crypto";
import { type Asset, BMFF, JPEG, PNG } from "@trustnxt/c2pa-ts/asset";
import { Crypto } from "@trustnxt/c2pa-ts/crypto";

/** A file as a container of a manifest; null when its format is none that can hold one. Throws for a damaged file. */
export function openContainer(bytes: Uint8Array): Asset | null {
  Crypto.provider = hashing(Crypto.provider);
  if (JPEG.canRead(bytes)) return new JPEG(bytes);
  if (PNG.canRead(bytes)) return new PNG(bytes);
  if (WebP.canRead(bytes)) return new WebP(bytes);
  return BMFF.canRead(bytes) ? new BMFF(bytes) : null;
}

type Provider = typeof Crypto.provider;
const hashingProviders = new WeakSet<Provider>();

/** The library's own provider copies a whole file to hash it. */
function hashing(provider: Provider): Provider {
  if (hashingProviders.has(provider)) return provider;
  const made: Provider = Object.assign(Object.create(provider) as Provider, {
    streamingDigest(algorithm: string) {
      const hash = createHash(algorithm.replace("-", "").toLowerCase());
      return {
        update: (data: Uint8Array) => void hash.update(data),
        final: async () => new Uint8Array(hash.digest()),
      };
    },
  });
  hashingProviders.add(made);
  return made;
}

interface RiffChunk {
  readonly type: string;
  readonly start: number;
  /** With the byte that makes the size even. */
  readonly end: number;
  readonly sizeBytes: number;
}

const headBytes = 12;
const chunkHeadBytes = 8;
const manifestType = "C2PA";
const even = (size: number) => size + (size % 2);

/** WebP keeps a manifest in a chunk of its own at the end, which the library cannot write. */
class WebP implements Asset {
  readonly mimeType = "image/webp";
  #bytes: Buffer;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  static canRead(bytes: Uint8Array): boolean {
    const head = Buffer.from(bytes.subarray(0, headBytes)).toString("latin1");
    return head.startsWith("RIFF") && head.endsWith("WEBP");
  }

  get #end(): number {
    return Math.min(this.#bytes.length, chunkHeadBytes + this.#bytes.readUInt32LE(4));
  }

  #chunks(): RiffChunk[] {
    const chunks: RiffChunk[] = [];
    for (
      let start = headBytes;
      start + chunkHeadBytes <= this.#end;
      start = chunks.at(-1)?.end ?? this.#end
    ) {
      const sizeBytes = this.#bytes.readUInt32LE(start + 4);
      const end = start + chunkHeadBytes + even(sizeBytes);
      chunks.push({ type: this.#bytes.toString("latin1", start, start + 4), start, end, sizeBytes });
    }
    return chunks;
  }

  #manifest(): RiffChunk | undefined {
    return this.#chunks().find(({ type }) => type === manifestType);
  }

  getDataLength(): number {
    return this.#bytes.length;
  }

  async getDataRange(start = 0, length?: number): Promise<Uint8Array> {
    return this.#bytes.subarray(start, length === undefined ? undefined : start + length);
  }

  getManifestJUMBF(): Uint8Array | undefined {
    const found = this.#manifest();
    const start = (found?.start ?? 0) + chunkHeadBytes;
    return found && this.#bytes.subarray(start, start + found.sizeBytes);
  }

  dumpInfo(): string {
    return this.#chunks()
      .map(({ type, sizeBytes }) => `${type} ${sizeBytes}`)
      .join("\n");
  }

  async ensureManifestSpace(length: number): Promise<void> {
    const found = this.#manifest();
    if (found?.sizeBytes === length) return;
    const kept = found
      ? [this.#bytes.subarray(0, found.start), this.#bytes.subarray(found.end, this.#end)]
      : [this.#bytes.subarray(0, this.#end)];
    const head = Buffer.alloc(chunkHeadBytes);
    head.write(manifestType, "latin1");
    head.writeUInt32LE(length, 4);
    this.#bytes = Buffer.concat([...kept, head, Buffer.alloc(even(length))]);
    this.#bytes.writeUInt32LE(this.#bytes.length - chunkHeadBytes, 4);
  }

  getHashExclusionRange(): { start: number; length: number } {
    const found = this.#manifest();
    if (!found) throw new Error("There is no room for a manifest.");
    // The byte that makes the size even is no part of the manifest.
    return { start: found.start, length: chunkHeadBytes + found.sizeBytes };
  }

  async writeManifestJUMBF(jumbf: Uint8Array): Promise<void> {
    const found = this.#manifest();
    if (found?.sizeBytes !== jumbf.length) throw new Error("The room for the manifest has another size.");
    this.#bytes.set(jumbf, found.start + chunkHeadBytes);
  }
}

/**
 * The store of manifests in a file, raw; undefined without one. Throws for one of more or deeper boxes than any program writes:
 * the library copies a box at each depth, so that 2 MB of boxes in boxes take gigabytes.
 */
export function readStore(asset: Asset): Uint8Array | undefined {
  const store = asset.getManifestJUMBF();
  if (store) requireFlat(viewOf(store));
  return store;
}

/** Store, manifest, assertions, assertion, its parts: five; private boxes of a description may come to it. */
const mostDepth = 12;
const mostBoxes = 20_000;

function requireFlat(store: Buffer): void {
  let boxes = 0;
  // What stands behind the store is not read.
  const [whole = Buffer.alloc(0)] = boxesIn(store);
  const open = [{ box: whole, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const held = heldBy(next.box);
    let length = 0;
    for (const box of boxesIn(held)) {
      boxes += 1;
      length += box.length;
      if (next.depth > mostDepth || boxes > mostBoxes)
        throw new RangeError("The manifests have too many boxes.");
      open.push({ box, depth: next.depth + 1 });
    }
    if (length !== held.length) throw new RangeError("A box of the manifests reaches behind its end.");
  }
}

const mayHoldBoxes = 0x10;

/** The part of a box in which boxes stand: all of a box of boxes, the private ones of a description; nothing of others. */
function heldBy(box: Buffer): Buffer {
  const type = box.toString("latin1", 4, boxHeadBytes);
  if (type === "jumb") return box.subarray(boxHeadBytes);
  const toggles = type === "jumd" ? (box[labelStart - 1] ?? 0) : 0;
  if (!(toggles & mayHoldBoxes)) return Buffer.alloc(0);
  const labelEnd = toggles & 2 ? box.indexOf(0, labelStart) + 1 : labelStart;
  if (labelEnd === 0) throw new RangeError("A label of the manifests has no end.");
  return box.subarray(labelEnd + (toggles & 4 ? 4 : 0) + (toggles & 8 ? 32 : 0));
}

/** Length and type of a box of JUMBF. */
const boxHeadBytes = 8;
/** Length, type, the type's id and the byte of flags of a description box. */
const labelStart = boxHeadBytes + 16 + 1;

/** The boxes in a box of JUMBF behind its description, raw, at most as far as it is intact. */
export function childrenOf(box: Uint8Array): Uint8Array[] {
  const [, ...children] = boxesIn(viewOf(box).subarray(boxHeadBytes));
  return children;
}

/** The label in the description of a box; empty without one. */
export function labelOf(box: Uint8Array): string {
  const [description = Buffer.alloc(0)] = boxesIn(viewOf(box).subarray(boxHeadBytes));
  const end = description.indexOf(0, labelStart);
  return description.toString("utf8", labelStart, end === -1 ? description.length : end);
}

function* boxesIn(bytes: Buffer): Generator<Buffer> {
  let at = 0;
  while (at + boxHeadBytes <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    if (length < boxHeadBytes || at + length > bytes.length) break;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

/** A store of manifests with raw ones of other files before its own. */
export function withManifestsBefore(store: Uint8Array, manifests: readonly Uint8Array[]): Buffer {
  const [description = Buffer.alloc(0), ...own] = boxesIn(viewOf(store).subarray(boxHeadBytes));
  const parts = [description, ...manifests, ...own];
  const head = Buffer.from(viewOf(store).subarray(0, boxHeadBytes));
  head.writeUInt32BE(boxHeadBytes + parts.reduce((sum, { length }) => sum + length, 0));
  return Buffer.concat([head, ...parts]);
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
