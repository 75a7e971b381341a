/** What a server says of one node class (`/object_info/<class>`): the fields that are read here. */
export interface ObjectInfo {
  readonly input?: {
    readonly required?: Readonly<Record<string, unknown>>;
    readonly optional?: Readonly<Record<string, unknown>>;
  };
  readonly output?: readonly unknown[];
  readonly output_node?: boolean;
}

/** Node classes of a server; null, or not there: the server does not have it. */
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

function listOf(value: unknown): string[] | null {
  return Array.isArray(value) ? value.map(String) : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** Reads an input's spec: `[[choices], options]` of older nodes, `["COMBO", { options }]` of newer ones, `[TYPE, options]`. */
function readInputFacts(spec: unknown): InputFacts {
  const [type, options]: unknown[] = Array.isArray(spec) ? spec : [];
  const isList = Array.isArray(type) || type === "COMBO";
  return {
    type: isList ? "COMBO" : String(type),
    choices: isList ? (listOf(type) ?? listOf(fieldOf(options, "options"))) : null,
    min: numberOf(fieldOf(options, "min")),
    max: numberOf(fieldOf(options, "max")),
    isUpload: fieldOf(options, "image_upload") === true,
  };
}

/** The facts of one input of a class; null when the class has no such input. */
export function findInput({ input }: ObjectInfo, name: string): InputFacts | null {
  const spec = input?.required?.[name] ?? input?.optional?.[name];
  return spec === undefined ? null : readInputFacts(spec);
}
