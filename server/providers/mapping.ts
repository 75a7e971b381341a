import type { InputTemplate, InputValue, ProviderPicture } from "./port.ts";

/** What placeholders stand for, by name without the sign. */
export type TemplateValues = Readonly<Record<string, string | number | ProviderPicture>>;

/** Names of the placeholders besides the roles of pictures. */
export const paramPlaceholders: readonly string[] = [
  "prompt",
  "negative_prompt",
  "seed",
  "width",
  "height",
  "aspect_ratio",
  "scale",
  "category",
];

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
  return typeof part === "object" && part !== null ? fillObject(part, values) : missing;
}

/** A text that is one placeholder becomes its value; within a longer text `${name}` is replaced. */
function fillText(text: string, values: TemplateValues): Filled {
  if (text.startsWith("$$")) return text.slice(1);
  const name = /^\$([a-z_]+)$/.exec(text)?.[1];
  if (name !== undefined) return values[name] ?? missing;
  return text.replaceAll(/\$\{([a-z_]+)\}/g, (_, inner: string) => {
    const value = values[inner];
    return typeof value === "object" || value === undefined ? "" : String(value);
  });
}

/** Names of all placeholders of a template. */
export function placeholdersOf(template: unknown): string[] {
  if (typeof template === "string") {
    const whole = template.startsWith("$$") ? undefined : /^\$([a-z_]+)$/.exec(template)?.[1];
    const inner = [...template.matchAll(/\$\{([a-z_]+)\}/g)].map(([, name]) => name ?? "");
    return whole === undefined ? inner : [whole];
  }
  if (typeof template !== "object" || template === null) return [];
  return Object.values(template).flatMap(placeholdersOf);
}
