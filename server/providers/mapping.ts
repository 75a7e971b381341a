import type { InputTemplate, InputValue, ProviderPicture } from "./port.ts";

/** What placeholders stand for, by name without the sign. */
export type TemplateValues = Readonly<Record<string, string | number | ProviderPicture>>;

/**
 * Names of the placeholders besides the roles of pictures, each with the setting of a request that it carries. `size` is
 * width and height together.
 */
export const placeholderSettings = {
  prompt: "prompt",
  negative_prompt: "negativePrompt",
  seed: "seed",
  steps: "steps",
  guidance: "guidance",
  strength: "strength",
  scale: "scale",
  category: "category",
  category_text: "category",
  width: "size",
  height: "size",
  image_width: "size",
  image_height: "size",
  size: "size",
  aspect_ratio: "size",
  asked_ratio: "size",
} as const;

export type Setting = (typeof placeholderSettings)[keyof typeof placeholderSettings];

export const paramPlaceholders: readonly string[] = Object.keys(placeholderSettings);

const missing = Symbol("missing");
type Filled = InputValue | typeof missing;

/** Puts values in the place of placeholders; a member or list item without a value is left out. `$$` stands for `$`. */
export function fillTemplate(
  template: InputTemplate,
  values: TemplateValues,
): Readonly<Record<string, InputValue>> {
  return fillObject(template, values);
}

function fillObject(template: object, values: TemplateValues): Record<string, InputValue> {
  const filled = Object.entries(template).map(([name, part]): [string, Filled] => [name, fill(part, values)]);
  return Object.fromEntries(filled.filter((entry): entry is [string, InputValue] => entry[1] !== missing));
}

function fill(part: unknown, values: TemplateValues): Filled {
  if (typeof part === "string") return fillText(part, values);
  if (typeof part === "number" || typeof part === "boolean") return part;
  if (Array.isArray(part)) {
    const items = part.map((item) => fill(item, values)).filter((item) => item !== missing);
    return items.length > 0 ? items : missing;
  }
  if (typeof part !== "object" || part === null) return missing;
  const choice = choiceOf(part);
  if (choice) return fillChoice(choice, values);
  const filled = fillObject(part, values);
  return Object.keys(filled).length === 0 && Object.keys(part).length > 0 ? missing : filled;
}

interface Choice {
  /** A placeholder, or `or` for the first part that has a value. */
  readonly name: string;
  readonly parts: unknown;
}

/** `{ "$category": { "top": "upper_body" } }` translates a value; `{ "$or": ["$asked_ratio", "auto"] }` has a default. */
function choiceOf(part: object): Choice | null {
  const [entry, ...others] = Object.entries(part);
  const name = entry && others.length === 0 ? /^\$([a-z_0-9]+)$/.exec(entry[0])?.[1] : undefined;
  return entry && name !== undefined ? { name, parts: entry[1] } : null;
}

function fillChoice({ name, parts }: Choice, values: TemplateValues): Filled {
  if (name === "or") {
    const options = Array.isArray(parts) ? parts.map((part) => fill(part, values)) : [];
    return options.find((option) => option !== missing) ?? missing;
  }
  const value = values[name];
  if (typeof value === "object" || value === undefined) return missing;
  const texts = translationsOf(parts);
  return fill(texts[String(value)], values);
}

function translationsOf(parts: unknown): Readonly<Record<string, unknown>> {
  return typeof parts === "object" && parts !== null ? Object.fromEntries(Object.entries(parts)) : {};
}

/** A text that is one placeholder becomes its value; within a longer text `${name}` is replaced. */
function fillText(text: string, values: TemplateValues): Filled {
  if (text.startsWith("$$")) return text.slice(1);
  const name = /^\$([a-z_0-9]+)$/.exec(text)?.[1];
  if (name !== undefined) return values[name] ?? missing;
  return text.replaceAll(/\$\{([a-z_0-9]+)\}/g, (_, inner: string) => {
    const value = values[inner];
    return typeof value === "object" || value === undefined ? "" : String(value);
  });
}

/** Names of all placeholders of a template. */
export function placeholdersOf(template: unknown): string[] {
  if (typeof template === "string") {
    const whole = template.startsWith("$$") ? undefined : /^\$([a-z_0-9]+)$/.exec(template)?.[1];
    const inner = [...template.matchAll(/\$\{([a-z_0-9]+)\}/g)].map(([, name]) => name ?? "");
    return whole === undefined ? inner : [whole];
  }
  if (typeof template !== "object" || template === null) return [];
  const choice = choiceOf(template);
  const own = choice && choice.name !== "or" ? [choice.name] : [];
  return [...own, ...Object.values(template).flatMap(placeholdersOf)];
}

/** The values of a placeholder that a template can translate; null where it takes any, empty where it takes none. */
export function valuesTaken(template: unknown, name: string): readonly string[] | null {
  if (typeof template === "string") return placeholdersOf(template).includes(name) ? null : [];
  if (typeof template !== "object" || template === null) return [];
  const choice = choiceOf(template);
  if (choice?.name === name) return Object.keys(translationsOf(choice.parts));
  const parts = Object.values(template).map((part: unknown) => valuesTaken(part, name));
  const limited = parts.find((part) => part !== null && part.length > 0);
  return limited ?? (parts.includes(null) ? null : []);
}
