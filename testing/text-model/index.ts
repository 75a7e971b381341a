import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { textModelPath } from "@atelier/server/meaning";

const width = 32;
const heads = 2;
const positions = 128;

/** Rows of four-bit weights: a scale of 16 bits and 32 weights each. */
function blocksOf(rows: number, weightAt: (row: number, at: number) => number): Buffer {
  const bytes = Buffer.alloc(rows * 18);
  for (let row = 0; row < rows; row += 1) {
    bytes.writeUInt16LE(0x2c_00, row * 18);
    for (let at = 0; at < 16; at += 1)
      bytes[row * 18 + 2 + at] = weightAt(row, at) | (weightAt(row, at + 16) << 4);
  }
  return bytes;
}

const floatsOf = (count: number, value: number) => Buffer.from(new Float32Array(count).fill(value).buffer);

/** Numbers of 0 to 15 that look like chance and are the same each time. */
const mixed = (row: number, at: number) => (Math.imul(row * width + at + 1, 2_654_435_761) >>> 28) & 15;

const ints = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);

/** Pieces of one letter each, a few of them of each of ten scripts. */
const letters = [
  "<s>",
  "</s>",
  "<unk>",
  "\u2581",
  ...Array.from(
    "abcdefghijklmnopqrstuvwxyz" +
      "\u0430\u0431\u0432\u0433\u0434\u0435\u0436\u0437" +
      "\u7ea2\u6c99\u53d1\u732b\u72d7\u9e1f\u9c7c\u9a6c" +
      "\u3042\u3044\u3046\u3048\u304a\u304b\u304d\u304f",
  ),
  ...Array.from(
    "\uac00\ub098\ub2e4\ub77c\ub9c8\ubc14\uc0ac\uc544" +
      "\u0627\u0628\u062a\u062b\u062c\u062d\u062e\u062f" +
      "\u05d0\u05d1\u05d2\u05d3\u05d4\u05d5\u05d6\u05d7" +
      "\u0915\u0916\u0917\u0918\u091a\u091b\u091c\u091d",
  ),
  ...Array.from(
    "\u0e01\u0e02\u0e04\u0e07\u0e08\u0e09\u0e0a\u0e0b" + "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8",
  ),
];

function vocabularyBytes(): Buffer {
  const texts = letters.map((piece) => Buffer.from(piece));
  const offsets = texts.reduce((all, text) => [...all, (all.at(-1) ?? 0) + text.length], [0]);
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(offsets.at(-1) ?? 0));
  const head = ints(letters.length, 0, 1, 2, 2);
  return Buffer.concat([head, size, ints(...offsets), floatsOf(letters.length, -1), ...texts, ints(0, 0)]);
}

function tensorsOf(): Map<string, Buffer> {
  const norm = (name: string): [string, Buffer][] => [
    [`${name}.w`, floatsOf(width, 1)],
    [`${name}.b`, floatsOf(width, 0)],
  ];
  const dense = ["q", "k", "v", "ao", "fi", "fo"].flatMap((name): [string, Buffer][] => [
    [`l0.${name}.w`, blocksOf(width, mixed)],
    [`l0.${name}.b`, floatsOf(width, 0)],
  ]);
  return new Map([
    ["emb.word", blocksOf(letters.length, mixed)],
    ["emb.pos", floatsOf(positions * width, 0)],
    ["emb.type", floatsOf(width, 0)],
    ...norm("emb.ln"),
    ...norm("l0.aln"),
    ...norm("l0.oln"),
    ...dense,
  ]);
}

/**
 * Writes a text model of one layer, which knows letters alone, to where the added one stands: texts of the same letters are
 * near each other.
 */
export async function addTinyTextModel(env: { readonly ATELIER_DATA_DIR: string }): Promise<void> {
  const epsilon = Buffer.alloc(4);
  epsilon.writeFloatLE(1e-12);
  const head = Buffer.concat([
    Buffer.from("E5S1"),
    ints(1, width, 1, heads, width, letters.length, positions, 1),
    epsilon,
    ints(32),
    vocabularyBytes(),
  ]);
  const tensors = [...tensorsOf()];
  const entrySize = (name: string) => 2 + name.length + 1 + 4 + 16;
  let offset = head.length + 4 + tensors.reduce((sum, [name]) => sum + entrySize(name), 0);
  const entries = tensors.map(([name, bytes]) => {
    const entry = Buffer.alloc(entrySize(name));
    entry.writeUInt16LE(name.length);
    entry.write(name, 2, "latin1");
    entry.writeBigUInt64LE(BigInt(offset), 2 + name.length + 5);
    entry.writeBigUInt64LE(BigInt(bytes.length), 2 + name.length + 13);
    offset += bytes.length;
    return entry;
  });
  const file = textModelPath(env);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(
    file,
    Buffer.concat([head, ints(tensors.length), ...entries, ...tensors.map(([, bytes]) => bytes)]),
  );
}
