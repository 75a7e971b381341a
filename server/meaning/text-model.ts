import path from "node:path";
import { fileURLToPath } from "node:url";
import { createModelChild } from "../models/index.ts";
import type { Services } from "../services.ts";
import { textModel, textModelPath } from "./model-file.ts";

/** One order holds the child for a second or so, and a question waits for no more than that. */
const textsPerOrder = 8;

const askChild = createModelChild<readonly string[], readonly Float32Array[]>({
  title: textModel.title,
  // No URL of this module: a bundler would resolve it itself.
  script: path.join(path.dirname(fileURLToPath(import.meta.url)), "embed-child.ts"),
  // About two seconds of single questions.
  mostOpen: 20,
});

/**
 * Vectors of length 1 of texts, in their order, made by the added text model in a process of its own. What is aborted is
 * not ordered any more; what the child has already begun, it ends. Throws when the model cannot be run.
 */
export async function embedOnboard(
  { db, env }: Pick<Services, "db" | "env">,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<number[][]> {
  const vectors: number[][] = [];
  for (let at = 0; at < texts.length; at += textsPerOrder) {
    const task = texts.slice(at, at + textsPerOrder);
    const made = await askChild(db, { file: textModelPath(env), task, signal });
    for (const vector of made) vectors.push([...vector]);
  }
  return vectors;
}
