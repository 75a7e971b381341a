/**
 * Meaning: a small text model on this computer that makes vectors of texts, near each other where the texts mean the same, in
 * a hundred languages and every script. It needs no key and no network, and is off until an operator adds its file with
 * `atelier models add text-model FILE`.
 *
 * Terms. Text model: multilingual-e5-small, whose facts and checksum stand in `model-file.ts`. Piece: a part of a word, as
 * the model knows it. Vector: 384 numbers, of length 1.
 *
 * Vectors of texts, of this model or another, are stored in `recall_vectors` and compared in the memory of a process
 * (`vectors.ts`, `vector-search.ts`): those of the assistant's memory and those of pictures, each under the name of its model.
 *
 * Rules. Nothing is downloaded, ever. The model runs in a child process (`embed-child.ts`; `server/models`). Who has no file,
 * or whose child fails, searches by words alone.
 */
export { hasTextModel, textModel, textModelPath } from "./model-file.ts";
export { embedOnboard } from "./text-model.ts";
export { encodeQuery, encodeVector, maxDimensions } from "./vector-scan.ts";
export { few, leastDeviations, maxNear, type Meaning } from "./vector-search.ts";
export { findDimensions, readVectors, type VectorOwner } from "./vectors.ts";
