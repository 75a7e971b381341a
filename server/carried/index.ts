/**
 * Carried: what a file says beside its pixels. The texts of a file, and the settings that this program and others of this field
 * leave in them. In memory alone, so that the browser reads a file that goes nowhere, and the server one that was uploaded:
 * nothing here reads a file of the disk, a row or the environment, and nothing of the product is imported.
 *
 * - text: a name and words, from PNG, JPEG, WebP and TIFF, or from blocks that a caller found in another format.
 * - settings: prompts, numbers and models, by what a text is and not by its name.
 *
 * Anybody may have made a file: everything is bounded, and what is damaged gives less, never an error.
 */
export { type SideBlock, textsOfBlocks } from "./blocks.ts";
export { type FoundSettings, noSettings } from "./found.ts";
export { a1111Sampler, a1111Scheduler, listedAs, samplingOf } from "./samplers.ts";
export { findSettings, hasSettingsLine } from "./settings.ts";
export { type CarriedText, isXmp } from "./text-list.ts";
export { readCarriedTexts } from "./texts.ts";
