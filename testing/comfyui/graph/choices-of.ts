import type { Comfy } from "../server/comfy.ts";
import type { InputFact } from "./classes.ts";

/** Needs no file. */
const builtInVae = "pixel_space";
const pictures = /\.(png|jpe?g|webp|gif|bmp|tiff?|svg|avif)$/i;
const filesOf = "files of ";

/** The choices of a combo on this server; null for other types. */
export function choicesOf(comfy: Comfy, fact: InputFact): readonly string[] | null {
  if (fact.type !== "COMBO") return null;
  if (typeof fact.choices !== "string") return fact.choices ?? [];
  const folder = fact.choices.startsWith(filesOf) ? fact.choices.slice(filesOf.length) : fact.choices;
  if (folder === "input") return comfy.files.names("input").filter((name) => pictures.test(name));
  const names = (comfy.models[folder] ?? []).toSorted();
  return folder === "vae" ? [...names, builtInVae] : names;
}
