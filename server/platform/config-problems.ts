import { distance } from "fastest-levenshtein";
import { z } from "zod";

/** One fault of the configuration: the name, and what to do. */
export interface ConfigProblem {
  readonly name: string;
  readonly message: string;
}

/** The configuration file is not valid. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(({ name, message }) => `${name}: ${message}`).join("; "));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Letters and digits alone: other signs and capitals are the most common difference between two spellings. */
const plain = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");

/** Edits between two spellings of one name; more than a third of its letters make it another name. */
const editsFor = (name: string) => Math.max(3, Math.floor(plain(name).length / 3));

/** The known name that was probably meant; null when none is near. */
export function nearestName(
  name: string,
  known: readonly string[],
  maxEdits: number = editsFor(name),
): string | null {
  const written = plain(name);
  const ranked = known
    .map((one) => ({ one, edits: distance(written, plain(one)) }))
    .toSorted((a, b) => a.edits - b.edits);
  const [best] = ranked;
  return best && best.edits <= maxEdits ? best.one : null;
}

/** Not of what may be any text, and has worked with its quotes so far. */
const mayBeQuoted =
  /^(AUTH_SECRET|S3_SECRET_ACCESS_KEY|NO_PROXY|WORKER_NAME|WORKER_HTTP_TOKEN|OTEL_SERVICE_NAME)$/;

/** Docker's `--env-file` keeps the quotes that a shell, systemd and Compose take off. */
export function findQuoted(
  source: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): ConfigProblem[] {
  return names
    .filter((name) => isQuoted(source[name]) && !mayBeQuoted.test(name))
    .map((name) => ({ name, message: "has quotes around its value: leave them out" }));
}

/** Whether a value begins and ends with the same quotes. */
export const isQuoted = (value = "") => /^\s*(["'])[^]*\1\s*$/.test(value);

interface Read {
  readonly schema: z.ZodType;
  readonly input: unknown;
  /** Where the input is in the configuration; default: it is the whole. */
  readonly at?: readonly string[];
}

type Path = readonly PropertyKey[];

/** Every fault of a configuration; for a wrong name the nearest right one. */
export function readConfigProblems(
  { issues }: { readonly issues: readonly z.core.$ZodIssue[] },
  { schema, input, at = [] }: Read,
): ConfigProblem[] {
  // Safe: a JSON schema has these members, or others that are not read.
  const shape = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Shape;
  return issues.flatMap((issue): ConfigProblem[] => {
    const { path } = issue;
    if (issue.code === "unrecognized_keys") {
      const known = namesAt(shape, path);
      return issue.keys.map((key) => unknownName([...at, ...path, key], known));
    }
    return [{ name: nameOf([...at, ...path]), message: messageOf(issue, valueAt(input, path)) }];
  });
}

function unknownName(path: Path, known: readonly string[]): ConfigProblem {
  const written = String(path.at(-1));
  return { name: nameOf(path), message: `is not a setting${hint(written, known)}` };
}

function hint(written: string, known: readonly string[]): string {
  const nearest = nearestName(written, known);
  if (nearest !== null) return `; did you mean ${nearest}?`;
  return known.length > 0 ? `; known here: ${known.join(", ")}` : "";
}

/** Closed lists name their values; everything else has the library's own sentence. */
function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  const known = valuesOf(issue);
  if (known.length === 0 || typeof value !== "string") return issue.message;
  return `"${value}" is not known${hint(value, known)}`;
}

function valuesOf(issue: z.core.$ZodIssue): string[] {
  return issue.code === "invalid_value" ? issue.values.map(String) : [];
}

const nameOf = (path: Path) => path.map(String).join(".") || "the configuration";

function valueAt(input: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, key) => Object(value)[key], input);
}

interface Shape {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
  readonly propertyNames?: { readonly enum?: readonly string[] };
  readonly items?: unknown;
}

/** The names of the settings at a path. */
function namesAt(root: Shape, path: Path): string[] {
  const found = path.reduce<Shape>(
    ({ properties, additionalProperties, items }, key) =>
      Object(properties?.[String(key)] ?? (typeof key === "number" ? items : additionalProperties)),
    root,
  );
  return [...(found.propertyNames?.enum ?? Object.keys(found.properties ?? {}))];
}
