import { z } from "zod";

const requestSchema = z.looseObject({
  model: z.string(),
  input: z.union([z.string(), z.array(z.string())]),
  dimensions: z.number().int().min(1).optional(),
});

/** Texts that vectors are asked for. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly texts: readonly string[];
  readonly dimensions: number;
}

const usualDimensions = 384;

/** Null for what is no request. */
export function readEmbeddingRequest(body: unknown): EmbeddingRequest | null {
  const parsed = requestSchema.safeParse(body);
  if (!parsed.success) return null;
  const { model, input, dimensions = usualDimensions } = parsed.data;
  return { model, texts: [input].flat(), dimensions };
}

/** Words that mean the same here: each list is one meaning. This is all that the simulated model understands. */
const meanings: readonly (readonly string[])[] = [
  ["sofa", "couch", "settee"],
  ["car", "automobile", "vehicle"],
  ["happy", "glad", "cheerful"],
  ["physician", "doctor", "medic"],
  ["trousers", "pants", "slacks"],
  ["scarlet", "red", "crimson"],
  ["purchased", "bought", "acquired"],
];

const meaningOf = new Map(meanings.flatMap((words) => words.map((word) => [word, words[0] ?? word])));

/** A plain hash that is the same everywhere. */
function hashOf(text: string): number {
  let hash = 2_166_136_261;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  return hash;
}

const gram = 3;
const wordWeight = 3;

/**
 * A SIMULATED vector: counts of words and of their parts of three letters at hashed places. Words of one of the lists above
 * are the same word. Vectors of models with different names have nothing in common.
 */
function vectorOf(text: string, { model, dimensions }: EmbeddingRequest): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const add = (part: string, weight: number) => {
    const hash = hashOf(`${model} ${part}`);
    const at = hash % dimensions;
    vector[at] = (vector[at] ?? 0) + (hash & 65_536 ? weight : -weight);
  };
  for (const [found] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    const word = meaningOf.get(found) ?? found;
    add(word, wordWeight);
    const padded = `^${word}$`;
    for (let at = 0; at + gram <= padded.length; at += 1) add(padded.slice(at, at + gram), 1);
  }
  return vector;
}

/** The answer of the embeddings API of OpenAI, with the vectors of a test instead of the simulated ones. */
export function embeddingsOf(request: EmbeddingRequest, scripted?: readonly (readonly number[])[]) {
  const { model, texts } = request;
  const vectors = scripted ?? texts.map((text) => vectorOf(text, request));
  const tokens = texts.reduce((sum, text) => sum + text.split(/\s+/).filter(Boolean).length, 0);
  return {
    object: "list",
    model,
    data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}
