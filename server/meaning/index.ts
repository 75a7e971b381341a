/**
 * Meaning: a small text model on this computer that makes vectors of texts, near each other where the texts mean the same, in
 * a hundred languages and every script. It needs no key and no network, and is off until an operator adds its file with
 * `atelier models add text-model FILE`.
 *
 * Terms. Text model: multilingual-e5-small, whose facts and checksum stand in `model-file.ts`. Piece: a part of a word, as
 * the model knows it. Vector: 384 numbers, of length 1.
 *
 * Rules. Nothing is downloaded, ever. The model runs in a child process (`embed-child.ts`), since a run blocks its process;
 * each process that asks has one of its own, started with the first question and ended when it is idle. A child has no
 * environment, no database and no network address. Who has no file, or whose child fails, searches by words alone.
 */
export { addTextModel } from "./add.ts";
export { hasTextModel, sha256Of, textModel, textModelPath } from "./model-file.ts";
export { embedOnboard } from "./text-model.ts";
