/* What a server says of the inputs of its node classes: of older nodes, of newer ones and of extensions. */

/** A server's description of one node class (`/object_info/<class>`): the fields that are read here. */
export interface ObjectInfo {
  readonly input?: {
    readonly required?: Readonly<Record<string, unknown>>;
    readonly optional?: Readonly<Record<string, unknown>>;
  };
  /** Undefined where the server tells them in no list: nothing is known of them. */
  readonly output?: readonly unknown[] | undefined;
  readonly output_node?: boolean;
}

/** Node classes of a server; null or absent: the server does not have the class. */
export type ObjectInfoByClass = ReadonlyMap<string, ObjectInfo | null>;

/** One input of a node class. */
export interface InputFacts {
  readonly type: string;
  /** The accepted values of a list; null when it is no list. */
  readonly choices: readonly string[] | null;
  readonly min: number | null;
  readonly max: number | null;
  /** Whether the choices are uploaded files, which change with every upload. */
  readonly isUpload: boolean;
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === field)?.[1]
    : undefined;
}

/** Where choices that are objects, such as those of dynamic lists or with a picture beside each, have their value. */
const choiceMembers = ["key", "content", "value", "name", "id", "label"];

/** The value of a choice, or of an input, that is written as itself or as an object. */
export function choiceOf(item: unknown): string {
  if (typeof item !== "object" || item === null) return String(item);
  const named = choiceMembers.map((member) => fieldOf(item, member));
  const found = named.find((value) => typeof value === "string" || typeof value === "number");
  return found === undefined ? JSON.stringify(item) : String(found);
}

/** All that is chosen: lists with several choices are written as arrays, by the page of ComfyUI inside of `__value__`. */
export function chosenOf(value: unknown): string[] {
  return listOf(fieldOf(value, "__value__") ?? value) ?? [choiceOf(value)];
}

function listOf(value: unknown): string[] | null {
  return Array.isArray(value) ? value.map(choiceOf) : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** Types of lists whose choices stand in their options: of newer nodes, with inputs of each choice, and of extensions. */
const isListType = (type: unknown) =>
  typeof type === "string" && /(?:^|_)(?:DYNAMIC)?COMBO(?:_|$)/.test(type);

/** Reads an input's spec: `[[choices], options]` of older nodes, `["COMBO", { options }]` of newer ones, `[TYPE, options]`. */
export function readInputFacts(spec: unknown): InputFacts {
  const [type, options]: unknown[] = Array.isArray(spec) ? spec : [];
  const isList = Array.isArray(type) || isListType(type);
  return {
    type: isList ? "COMBO" : String(type),
    choices: isList ? (listOf(type) ?? listOf(fieldOf(options, "options"))) : null,
    min: numberOf(fieldOf(options, "min")),
    max: numberOf(fieldOf(options, "max")),
    isUpload: fieldOf(options, "image_upload") === true,
  };
}

/** Specs by name; those of a choice of a dynamic list as well. */
export interface InputSpecs {
  readonly required?: unknown;
  readonly optional?: unknown;
}

/** The inputs that each choice of a dynamic list brings along, by the choice; named `<list>.<input>` in a graph. */
function branchesOf(spec: unknown): [choice: string, specs: InputSpecs][] {
  const options: unknown = Array.isArray(spec) ? fieldOf(spec[1], "options") : null;
  return (Array.isArray(options) ? options : []).flatMap((option: unknown) => {
    const inputs = fieldOf(option, "inputs");
    return typeof inputs === "object" && inputs !== null ? [[choiceOf(option), inputs]] : [];
  });
}

/** The inputs `<name>.<member>` that stand for such an input, each like the one of its template; `min` of them are required. */
function membersOf(spec: unknown): InputSpecs {
  const template = growsFrom(spec) && Array.isArray(spec) ? fieldOf(spec[1], "template") : null;
  const input = fieldOf(template, "input");
  const [required] = specsIn(fieldOf(input, "required"));
  const one = required ?? specsIn(fieldOf(input, "optional"))[0];
  if (one === undefined) return {};
  const listed = listOf(fieldOf(template, "names"));
  const prefix = choiceOf(fieldOf(template, "prefix"));
  const count = Math.min(mostMembers, numberOf(fieldOf(template, "max")) ?? 0);
  const names = listed ?? Array.from({ length: count }, (_, at) => `${prefix}${at}`);
  const least = required === undefined ? 0 : (numberOf(fieldOf(template, "min")) ?? 0);
  const specsOf = (part: readonly string[]) => Object.fromEntries(part.map((name) => [name, one]));
  return { required: specsOf(names.slice(0, least)), optional: specsOf(names.slice(least)) };
}

/** As the server has it. */
const mostMembers = 100;

/** Such an input stands for any number of inputs `<name>.<member>`, also for none. */
export const growsFrom = (spec: unknown) => readInputFacts(spec).type === "COMFY_AUTOGROW_V3";

const specsIn = (specs: unknown): unknown[] =>
  typeof specs === "object" && specs !== null ? Object.values(specs) : [];

/** The specs of the inputs below an input: of a dynamic list those of one choice, or of each for null. */
export function below(spec: unknown, chosen: string | null): InputSpecs[] {
  const branches = branchesOf(spec).filter(([choice]) => chosen === null || choice === chosen);
  return [...branches.map(([, specs]) => specs), membersOf(spec)];
}

interface Wanted {
  readonly name: string;
  /** Of the node; null: not known. */
  readonly values: Readonly<Record<string, unknown>> | null;
  readonly under?: string;
}

/** The specs that an input may have: in the chosen branch of a dynamic list, or in each where the values are not known. */
function findSpecs({ required, optional }: InputSpecs, { name, values, under = "" }: Wanted): unknown[] {
  const specOf = (input: string) => fieldOf(required, input) ?? fieldOf(optional, input);
  const own = specOf(name);
  if (own !== undefined) return [own];
  const dot = name.indexOf(".");
  if (dot < 0) return [];
  const list = name.slice(0, dot);
  const chosen = values && choiceOf(values[under + list]);
  const rest = { name: name.slice(dot + 1), values, under: `${under}${list}.` };
  return below(specOf(list), chosen).flatMap((specs) => findSpecs(specs, rest));
}

/**
 * The facts of one input of a node with these values; null when it has no such input, also where a dynamic list has no known
 * choice. Without values those of a class: of several branches the one with choices, and the choices of all.
 */
export function findInput({ input }: ObjectInfo, name: string, values: Wanted["values"]): InputFacts | null {
  const found = findSpecs(input ?? {}, { name, values }).map(readInputFacts);
  const facts = found.find(({ choices }) => choices !== null) ?? found[0];
  if (!facts) return null;
  const choices = [...new Set(found.flatMap((one) => one.choices ?? []))];
  return { ...facts, choices: facts.choices && choices };
}
