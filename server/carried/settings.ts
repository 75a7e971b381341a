import { fromComfyui } from "./comfyui.ts";
import { fromFooocus, fromInvokeai2, fromInvokeai2Command } from "./older.ts";
import {
  commonOf,
  type FoundSettings,
  isSet,
  type Lora,
  noSettings,
  numberIn,
  type Plain,
  recordIn,
  recordOf,
  recordsIn,
  textIn,
} from "./found.ts";
import { samplingOf } from "./samplers.ts";
import { type CarriedText, isXmp } from "./text-list.ts";

/** The settings that a file carries; null without any. Where several programs left theirs, the plainest count. */
export function findSettings(texts: readonly CarriedText[]): FoundSettings | null {
  // XMP is XML, in which the same words stand between its own.
  const parts = texts.filter((text) => !isXmp(text)).map(({ name, text }) => partOf(name, text));
  for (const read of readers)
    for (const part of parts) {
      const found = read(part);
      if (found !== null) return found;
    }
  return fromComfyui((name) => parts.find((part) => part.name === name)?.json ?? null);
}

interface Part extends CarriedText {
  /** The text as JSON; null when it is none. */
  readonly json: Plain | null;
}

/** In camera data ComfyUI writes the name in front of the JSON. */
function partOf(name: string, text: string): Part {
  const [, prefix, rest] = /^(prompt|workflow):\s*(\{[^]*)$/i.exec(text) ?? [];
  if (prefix === undefined || rest === undefined)
    return { name: name.toLowerCase(), text, json: recordOf(text) };
  return { name: prefix.toLowerCase(), text: rest, json: recordOf(rest) };
}

/** By what a text is and not by its name, which differs between PNG, JPEG and WebP. */
const readers: readonly ((part: Part) => FoundSettings | null)[] = [
  fromAtelier,
  fromInvokeai,
  fromFooocus,
  fromInvokeai2,
  fromInvokeai2Command,
  fromSwarmui,
  fromA1111,
];

/** What "Download with settings" wrote: server/jobs/carry-settings.ts. */
function fromAtelier({ name, json }: Part): FoundSettings | null {
  const params = json && recordIn(json, "params");
  if (name !== "atelier" || !json || !params) return null;
  return {
    ...noSettings,
    source: "atelier",
    ...commonOf(params),
    ...beforeStyles(recordIn(json, "template")),
    model: textIn(params, "checkpoint"),
    sampler: textIn(params, "sampler"),
    scheduler: textIn(params, "scheduler"),
    loras: recordsIn(params, "loras").flatMap((lora) => {
      const name = textIn(lora, "name");
      const { weight } = lora;
      return name === null ? [] : [{ name, weight: typeof weight === "number" ? weight : null }];
    }),
    inputs: recordsIn(json, "inputs").flatMap((input) => {
      const [role, imageId] = [textIn(input, "role"), textIn(input, "imageId")];
      return role === null || imageId === null ? [] : [{ role, imageId }];
    }),
    choice: { workflow: textIn(json, "workflow"), model: textIn(json, "model") },
  };
}

/** The prompts as they were drawn, before the styles went around them. */
function beforeStyles(template: Plain | null) {
  const drawn = template && recordIn(template, "drawn");
  if (!template || !drawn) return {};
  return {
    prompt: textIn(drawn, "prompt") ?? "",
    negativePrompt: textIn(drawn, "negativePrompt") ?? "",
    styles: recordsIn(template, "styles").flatMap((style) => textIn(style, "name") ?? []),
  };
}

function fromInvokeai({ name, json }: Part): FoundSettings | null {
  if (name !== "invokeai_metadata" || !json) return null;
  const model = recordIn(json, "model");
  return {
    ...noSettings,
    source: "invokeai",
    ...commonOf(json),
    model: model ? textIn(model, "name", "model_name") : textIn(json, "model"),
    ...samplingOf(textIn(json, "scheduler")),
    loras: recordsIn(json, "loras").flatMap((entry) => {
      const own = recordIn(entry, "model") ?? recordIn(entry, "lora") ?? entry;
      const lora = textIn(own, "name", "model_name");
      return lora === null ? [] : [{ name: lora, weight: numberIn(entry, "weight") }];
    }),
    others: ["vae", "controlnets", "ipAdapters", "refiner_model"].filter((one) => isSet(json[one])),
  };
}

function fromSwarmui({ json }: Part): FoundSettings | null {
  const params = json && recordIn(json, "sui_image_params");
  if (!params) return null;
  const [names, weights] = ["loras", "loraweights"].map((name) => listIn(params, name));
  const written = takeLorasOut(textIn(params, "prompt") ?? "");
  const flux = numberIn(params, "fluxguidancescale");
  const common = commonOf(params);
  return {
    ...noSettings,
    source: "swarmui",
    ...common,
    prompt: written.prompt,
    guidance: flux ?? common.guidance,
    model: textIn(params, "model"),
    ...samplingOf(textIn(params, "sampler"), textIn(params, "scheduler")),
    loras: [
      ...(names ?? []).map((name, at) => ({ name, weight: weights?.[at] ? Number(weights[at]) : null })),
      ...written.loras,
    ],
    others: ["vae", "clipstopatlayer", "refinermodel"].filter((one) => isSet(params[one])),
  };
}

/** A list, or names with commas between them. */
function listIn(settings: Plain, name: string): string[] {
  const value = settings[name];
  const list: readonly unknown[] = Array.isArray(value)
    ? value
    : typeof value === "string"
      ? value.split(",")
      : [];
  return list.map((one) => String(one).trim()).filter((one) => one !== "");
}

const mostLoras = 50;
/** Longer than any prompt; what is searched by patterns is bounded by it. */
const mostCharacters = 100_000;

/** `<lora:name:0.8>` is an order to the program that made the picture; here it would be read as words. */
function takeLorasOut(whole: string): { prompt: string; loras: Lora[] } {
  const text = whole.slice(0, mostCharacters);
  const loras: Lora[] = [];
  const prompt = text.replaceAll(
    /<(?:lora|lyco):([^<>:]{1,200})(?::([\d.+-]{1,20}))?[^<>]{0,200}>/gi,
    (_all, name: string, weight) => {
      if (loras.length < mostLoras)
        loras.push({ name, weight: weight === undefined ? null : Number(weight) });
      return "";
    },
  );
  return { prompt: loras.length === 0 ? text : prompt.replaceAll(/[ \t]{2,}/g, " ").trim(), loras };
}

const negativeStart = "Negative prompt:";
/** The last line with settings has at least these. */
const settingsLine = /^Steps: \d+,.*\b(?:Seed|Sampler): /;
/** What the settings line of the `parameters` text is read for; the rest is named. */
const read: ReadonlySet<string> = new Set([
  "Steps",
  "CFG scale",
  "Distilled CFG Scale",
  "Seed",
  "Size",
  "Model",
  "Sampler",
  "Schedule type",
]);
/** Facts about the program and its files, which are no settings. */
const facts = /hash|version|^(?:RNG|TI|Lora hashes|Module \d+)$/i;

const linesOf = (text: string) => text.slice(0, mostCharacters).split(/\r?\n/);
const isSettingsLine = (line: string) => settingsLine.test(line.slice(0, 4_000));

/** Whether a text has the settings line that A1111 writes. */
export const hasSettingsLine = (text: string): boolean => linesOf(text).some(isSettingsLine);

/** The `parameters` text: prompt, `Negative prompt:`, then a line `Steps: 20, Sampler: Euler, …`. */
function fromA1111({ text }: Part): FoundSettings | null {
  const lines = linesOf(text);
  const at = lines.findLastIndex(isSettingsLine);
  if (at < 0) return null;
  const line = lines[at] ?? "";
  const before = lines.slice(0, at);
  const negativeAt = before.findIndex((one) => one.startsWith(negativeStart));
  const prompt = (negativeAt < 0 ? before : before.slice(0, negativeAt)).join("\n").trim();
  const negative =
    negativeAt < 0 ? "" : before.slice(negativeAt).join("\n").slice(negativeStart.length).trim();
  const values = pairsOf(line.slice(0, 8_000));
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(values.get("Size") ?? "") ?? [];
  const numberOf = (name: string) => toNumber(values.get(name));
  const positive = takeLorasOut(prompt);
  const without = takeLorasOut(negative);
  return {
    ...noSettings,
    source: "a1111",
    prompt: positive.prompt,
    negativePrompt: without.prompt,
    seed: numberOf("Seed"),
    steps: numberOf("Steps"),
    guidance: numberOf("Distilled CFG Scale") ?? numberOf("CFG scale"),
    widthPx: toNumber(width),
    heightPx: toNumber(height),
    model: values.get("Model") ?? null,
    ...samplingOf(values.get("Sampler") ?? null, values.get("Schedule type") ?? null),
    loras: [...positive.loras, ...without.loras],
    others: [...values.keys()].filter((name) => !read.has(name) && !facts.test(name)),
  };
}

const toNumber = (text: string | undefined) => (text === undefined ? null : numberIn({ text }, "text"));

/** `Name: value, Name: "value, with a comma"`; what fits neither is left out. Linear: no part of a line is read twice. */
function pairsOf(line: string): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  const nameStart = /([A-Za-z0-9][\w \-/]{0,59}): /g;
  const quoted = /"(?:[^"\\]|\\.)*"(?=,|$)/y;
  const plainEnd = /[,"]|$/g;
  let end = 0;
  for (let found = nameStart.exec(line); found !== null; found = nameStart.exec(line)) {
    const [, name = ""] = found;
    const start = nameStart.lastIndex;
    quoted.lastIndex = start;
    let value = quoted.exec(line)?.[0];
    if (value === undefined) {
      plainEnd.lastIndex = start;
      if (end < start) end = plainEnd.exec(line)?.index ?? line.length;
      if (line[end] === '"') continue;
      value = line.slice(start, end);
    }
    pairs.set(name.trim(), unquoted(value));
    nameStart.lastIndex = start + value.length;
  }
  return pairs;
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value.trim();
  try {
    return String(JSON.parse(value));
  } catch {
    return value;
  }
}
