import { readFile } from "node:fs/promises";
import type { InferenceSession, Tensor } from "onnxruntime-node";
import { addRow, type ModelFile, parseModel } from "./model-file.ts";
import { writeNetwork } from "./network.ts";
import { createTokenizer } from "./vocabulary.ts";

/** Pieces of a text that count; the rest is cut off. */
const maxPieces = 256;
/** Pieces of all texts of one run, with padding: what bounds its memory and its time. */
const piecesPerRun = 1_024;
const never = -1e9;

/** Makes vectors of length 1 of texts. */
export type VectorsOf = (texts: readonly string[]) => Promise<Float32Array[]>;

interface Ready {
  readonly model: ModelFile;
  readonly words: Buffer;
  /** Vectors of the places of pieces, with what is added to all. */
  readonly places: Float32Array;
  readonly session: InferenceSession;
  readonly tensor: typeof Tensor;
}

/** Loads the model of a file. Its runs block the process: only for a child process. */
export async function loadTextModel(file: string): Promise<VectorsOf> {
  const ort = await import("onnxruntime-node");
  const model = parseModel(await readFile(file));
  const session = await ort.InferenceSession.create(writeNetwork(model), {
    // One thread: other work has the other cores, and a question is short.
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    enableCpuMemArena: false,
    enableMemPattern: false,
    executionMode: "sequential",
    logSeverityLevel: 3,
  });
  const places = model.floats("emb.pos");
  const type = model.floats("emb.type");
  for (const at of places.keys()) places[at] = (places[at] ?? 0) + (type[at % model.width] ?? 0);
  const ready: Ready = { model, words: model.blocks("emb.word"), places, session, tensor: ort.Tensor };
  const tokenize = createTokenizer(model.vocabulary, Math.min(maxPieces, model.positions));
  return async (texts) => {
    const known = texts.map(tokenize);
    const vectors: Float32Array[] = [];
    const order = [...known.keys()].toSorted((a, b) => lengthAt(known, a) - lengthAt(known, b));
    for (const part of partsOf(order, known)) {
      const made = await run(
        ready,
        part.map((at) => known[at] ?? []),
      );
      for (const [place, at] of part.entries()) vectors[at] = made[place] ?? new Float32Array();
    }
    return vectors;
  };
}

const lengthAt = (texts: readonly (readonly number[])[], at: number) => texts[at]?.length ?? 0;

/** Texts that are run together: of like length, so that little is padding. */
function partsOf(order: readonly number[], texts: readonly (readonly number[])[]): number[][] {
  const parts: number[][] = [];
  for (const at of order) {
    const last = parts.at(-1);
    if (last && (last.length + 1) * lengthAt(texts, at) <= piecesPerRun) last.push(at);
    else parts.push([at]);
  }
  return parts;
}

async function run(ready: Ready, texts: readonly (readonly number[])[]): Promise<Float32Array[]> {
  const { model, words, places, session, tensor: NewTensor } = ready;
  const { width } = model;
  const length = Math.max(...texts.map((text) => text.length));
  const pieces = new Float32Array(texts.length * length * width);
  const padding = new Float32Array(texts.length * length).fill(never);
  for (const [row, text] of texts.entries())
    for (const [at, id] of text.entries()) {
      const from = (row * length + at) * width;
      const piece = pieces.subarray(from, from + width);
      piece.set(places.subarray(at * width, (at + 1) * width));
      addRow(words, id, piece);
      padding[row * length + at] = 0;
    }
  const { contexts } = await session.run({
    pieces: new NewTensor("float32", pieces, [texts.length, length, width]),
    padding: new NewTensor("float32", padding, [texts.length, 1, 1, length]),
  });
  const data = contexts?.data;
  if (!(data instanceof Float32Array)) throw new Error("The text model returned no numbers.");
  return texts.map((text, row) => meanOf(data.subarray(row * length * width), { count: text.length, width }));
}

/** The mean of the first vectors, of length 1. */
function meanOf(
  data: Float32Array,
  { count, width }: { readonly count: number; readonly width: number },
): Float32Array {
  const mean = new Float32Array(width);
  for (let at = 0; at < count * width; at += 1) mean[at % width] = (mean[at % width] ?? 0) + (data[at] ?? 0);
  const size = Math.hypot(...mean) || 1;
  return mean.map((value) => value / size);
}
