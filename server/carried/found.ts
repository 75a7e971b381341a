export interface Lora {
  readonly name: string;
  readonly weight: number | null;
}

/** Where settings come from: this program, or the format of another one. */
type SettingsSource = "atelier" | "a1111" | "comfyui" | "fooocus" | "invokeai" | "swarmui";

/** The settings of a picture, in the words of this studio. What the file does not say is null or empty. */
export interface FoundSettings {
  readonly source: SettingsSource;
  readonly prompt: string;
  readonly negativePrompt: string;
  /** As the file has it; other programs take larger ones than this studio. */
  readonly seed: number | null;
  readonly steps: number | null;
  readonly guidance: number | null;
  readonly widthPx: number | null;
  readonly heightPx: number | null;
  /** A file, or the name of a model as its program spells it. */
  readonly model: string | null;
  /** As ComfyUI calls them, where it has the same. */
  readonly sampler: string | null;
  readonly scheduler: string | null;
  /** A workflow or a model of a studio of this program, by its name. */
  readonly choice: { readonly workflow: string | null; readonly model: string | null } | null;
  readonly loras: readonly Lora[];
  /** Pictures of a studio of this program that went with the prompt; whatever role the file gives them. */
  readonly inputs: readonly { readonly role: string; readonly imageId: string }[];
  /** Names of the styles of this program, which are not in the prompts. */
  readonly styles: readonly string[];
  /** Names of settings that Create has no field for. */
  readonly others: readonly string[];
}

export const noSettings = {
  prompt: "",
  negativePrompt: "",
  seed: null,
  steps: null,
  guidance: null,
  widthPx: null,
  heightPx: null,
  model: null,
  sampler: null,
  scheduler: null,
  choice: null,
  loras: [],
  inputs: [],
  styles: [],
  others: [],
} as const satisfies Omit<FoundSettings, "source">;

/** An object of a JSON text that anybody may have written. */
export type Plain = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A string, also one without an end, or a number that Python writes and JSON does not have. */
const stringOrOddNumber = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\b(?:NaN|Infinity)\b/gs;
const withoutOddNumbers = (text: string) =>
  text.replaceAll(stringOrOddNumber, (part) => (part.startsWith('"') ? part : "null"));

/** Of a JSON text with an object; null for any other text. Some programs write `NaN`, which is no JSON. */
export function recordOf(given: string): Plain | null {
  const text = given.replace(/^\ufeff/, "");
  if (!text.trimStart().startsWith("{")) return null;
  for (const candidate of [text, withoutOddNumbers(text)])
    try {
      const value: unknown = JSON.parse(candidate);
      return isRecord(value) ? value : null;
    } catch {
      // The second text, or none of them.
    }
  return null;
}

const own = (record: Plain, name: string) => (Object.hasOwn(record, name) ? record[name] : undefined);

/** The first of the members that is a text. */
export function textIn(record: Plain, ...names: readonly string[]): string | null {
  const value = names.map((name) => own(record, name)).find((one) => typeof one === "string");
  return typeof value === "string" ? value : null;
}

/** The first of the members that is a number, or a text with one; not negative. */
export function numberIn(record: Plain, ...names: readonly string[]): number | null {
  for (const name of names) {
    const value = own(record, name);
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number === "number" && Number.isFinite(number) && number >= 0) return number;
  }
  return null;
}

export function recordIn(record: Plain, name: string): Plain | null {
  const value = own(record, name);
  return isRecord(value) ? value : null;
}

const mostRecords = 5_000;

export function recordsIn(record: Plain, name: string): readonly Plain[] {
  const value = own(record, name);
  return Array.isArray(value) ? value.slice(0, mostRecords).filter(isRecord) : [];
}

/** What most programs call alike. */
export function commonOf(settings: Plain) {
  return {
    prompt: textIn(settings, "prompt", "positive_prompt") ?? "",
    negativePrompt: textIn(settings, "negativePrompt", "negative_prompt", "negativeprompt") ?? "",
    seed: numberIn(settings, "seed"),
    steps: numberIn(settings, "steps"),
    guidance: numberIn(settings, "guidance", "cfg_scale", "cfgscale"),
    widthPx: numberIn(settings, "width"),
    heightPx: numberIn(settings, "height"),
  };
}

export const isSet = (value: unknown) =>
  value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
