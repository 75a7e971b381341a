import {
  commonOf,
  type FoundSettings,
  isSet,
  type Lora,
  noSettings,
  numberIn,
  type Plain,
  recordIn,
  recordsIn,
  textIn,
} from "./found.ts";
import { samplingOf } from "./samplers.ts";

interface Part {
  readonly name: string;
  readonly text: string;
  /** The text as JSON; null when it is none. */
  readonly json: Plain | null;
}

/** What Fooocus writes by its own scheme (the other one is A1111's): `parameters` of a PNG, the comment of a JPEG or WebP. */
export function fromFooocus({ json }: Part): FoundSettings | null {
  if (!json) return null;
  const isFooocus =
    textIn(json, "metadata_scheme") === "fooocus" ||
    (isSet(json["performance"]) && isSet(json["base_model"]));
  if (!isFooocus) return null;
  const [, width, height] = /(\d{2,5})\D{1,5}(\d{2,5})/.exec(textIn(json, "resolution") ?? "") ?? [];
  const styles = namesIn(json["styles"]);
  const hasOther = ["vae", "performance", "sharpness"].filter((one) => isSet(json[one]));
  return {
    ...noSettings,
    source: "fooocus",
    ...commonOf(json),
    guidance: numberIn(json, "guidance_scale"),
    widthPx: width === undefined ? null : Number(width),
    heightPx: height === undefined ? null : Number(height),
    model: textIn(json, "base_model"),
    ...samplingOf(textIn(json, "sampler"), textIn(json, "scheduler")),
    loras: lorasOfFooocus(json),
    // Its styles are words of that program, which this studio does not have under these names.
    others: [...hasOther, ...(styles.length > 0 ? ["styles"] : [])],
  };
}

/** A list, or one as Python writes it: `['Fooocus V2', 'Cinematic']`. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.filter((one) => typeof one === "string");
  return typeof value === "string" ? (value.slice(0, 10_000).match(/(?<=')[^'[\],]+(?=')/g) ?? []) : [];
}

const mostLoras = 50;

/** Since 2.2 `loras` with name, weight and hash of each; before, `lora_combined_1` and so on with "name : weight". */
function lorasOfFooocus(json: Plain): Lora[] {
  const listed: readonly unknown[] = Array.isArray(json["loras"]) ? json["loras"].slice(0, mostLoras) : [];
  const loras = listed.flatMap((one): Lora[] => {
    const [name, weight]: readonly unknown[] = Array.isArray(one) ? one : [];
    return typeof name === "string" && name !== "None"
      ? [{ name, weight: typeof weight === "number" ? weight : null }]
      : [];
  });
  const combined = Object.keys(json).filter((name) => /^lora_combined_\d{1,2}$/.test(name));
  return [
    ...loras,
    ...combined.flatMap((key): Lora[] => {
      const [, name, weight] = /^(.{1,200}?) : (-?[\d.]{1,10})$/.exec(textIn(json, key) ?? "") ?? [];
      return name === undefined || name === "None" ? [] : [{ name, weight: Number(weight) }];
    }),
  ];
}

/** The record that InvokeAI 2 writes; since 3 it writes another one. */
export function fromInvokeai2({ name, json }: Part): FoundSettings | null {
  const image = name === "sd-metadata" && json ? recordIn(json, "image") : null;
  if (!json || !image) return null;
  const prompts = recordsIn(image, "prompt").flatMap((one) => textIn(one, "prompt") ?? []);
  return {
    ...noSettings,
    source: "invokeai",
    ...commonOf(image),
    ...promptsOf(textIn(image, "prompt") ?? prompts.join(", ")),
    model: textIn(json, "model_weights"),
    ...samplingOf(textIn(image, "sampler")),
    others: ["postprocessing", "variations"].filter((one) => isSet(image[one])),
  };
}

/** Negative words stand in the prompt, in square brackets. */
function promptsOf(written: string): Pick<FoundSettings, "negativePrompt" | "prompt"> {
  const text = written.slice(0, 100_000);
  const negative = [...text.matchAll(/\[([^[\]]*)\]/g)].map(([, words = ""]) => words.trim());
  const prompt = text
    .replaceAll(/\[[^[\]]*\]/g, " ")
    .replaceAll(/ {2,}/g, " ")
    .trim();
  return { prompt, negativePrompt: negative.filter((words) => words !== "").join(", ") };
}

/** The command of InvokeAI 2: `"a red fox [blurry]" -s 28 -S 123456 -W 832 -H 1216 -C 6.5 -A k_lms`. */
export function fromInvokeai2Command({ name, text }: Part): FoundSettings | null {
  if (name !== "dream") return null;
  const [, prompt, rest] = /^"([^"]{1,100000})"\s+(-.{1,2000})$/s.exec(text.trim()) ?? [];
  if (prompt === undefined || rest === undefined) return null;
  const flags = Object.fromEntries(
    [...rest.matchAll(/-([sSWHCA])\s*([\w.]{1,30})/g)].map(([, flag, value]) => [flag, value]),
  );
  return {
    ...noSettings,
    source: "invokeai",
    ...promptsOf(prompt),
    seed: numberIn(flags, "S"),
    steps: numberIn(flags, "s"),
    guidance: numberIn(flags, "C"),
    widthPx: numberIn(flags, "W"),
    heightPx: numberIn(flags, "H"),
    ...samplingOf(textIn(flags, "A")),
  };
}
