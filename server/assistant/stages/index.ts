/**
 * The stages of a question: what is done between two of its statuses. Workers load this folder, and the pages parts of it with
 * the first use: the packages of the language models take memory and time.
 *
 *     analyze (analyze.ts) ──▶ assemble (assemble.ts) ──▶ respond (respond.ts, tools.ts)
 *     archive (archive.ts) makes memories of what was said; it belongs to no question
 *     describe (describe.ts, read-description.ts) describes pictures without words; it belongs to no question
 *     try (try.ts) asks as these do, with another prompt; it stores nothing and belongs to no question
 *
 * Each stage is a function of the question and a signal that returns its result; the worker stores it under its lease. Models
 * are called through `callModel` (calls.ts) alone, which knows their limits of time and money and repeats what may be
 * repeated. Without a model each stage has rules instead.
 */
export { analyze } from "./analyze.ts";
export { archive } from "./archive.ts";
export { assemble } from "./assemble.ts";
export { describePictures } from "./describe.ts";
export { embedMissing } from "./embed.ts";
export { ModelError } from "./model-errors.ts";
export { respond } from "./respond.ts";
