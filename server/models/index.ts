/**
 * Models that an operator adds to the data folder of a computer, with `atelier models add NAME FILE`: each is known by its
 * SHA-256, has its licence beside it, and is off until it is there. Nothing is downloaded, ever.
 *
 * A model runs in a child process, since a run blocks its process; each process that asks has one child of each model, started
 * with the first question and ended when it is idle. A child has no environment, no database and no network address.
 */
export { type AddedModel, addModel, hasModel, isWhole, modelPath } from "./added.ts";
export { createModelChild } from "./child.ts";
