const maxObjects = 20;

/** The JSON objects of a text: in a fence, behind words, with comments or a comma too many, as models write them. */
export function* findObjects(text: string): Generator<unknown> {
  let at = text.indexOf("{");
  for (let left = maxObjects; at !== -1 && left > 0; left -= 1) {
    const reader = { text, at };
    try {
      yield readValue(reader, 0);
      at = text.indexOf("{", reader.at);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      at = text.indexOf("{", at + 1);
    }
  }
}

/** The outermost objects of a text; null when one of them cannot be read, since what is in it means something else alone. */
export function outermostObjects(text: string): unknown[] | null {
  const objects: unknown[] = [];
  const reader = { text, at: 0 };
  try {
    while ((reader.at = text.indexOf("{", reader.at)) !== -1) objects.push(readValue(reader, 0));
    return objects;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return null;
  }
}

/** What a model calls the words that it was asked for. */
const wordsName = /desc|caption|alt|summary|answer|response|content/i;

/** The words of a JSON text whose form nobody asked for: those under a name that says so, else its longest text; null without any. */
export function wordsOfJson(json: string): string | null {
  const [value] = findObjects(json.startsWith("[") ? `{"": ${json}}` : json);
  const texts = textsIn("", value);
  const named = texts.find(([name, one]) => wordsName.test(name) && /\s/.test(one));
  if (named) return named[1];
  const [longest] = texts.map(([, one]) => one).toSorted((a, b) => b.length - a.length);
  if (longest === undefined || /\s\S+\s/.test(longest)) return longest ?? cutWordsOf(json);
  // Names of things alone.
  return texts.map(([, one]) => one).join(", ");
}

/** Those of a text that ends in the middle. */
const cutWordsOf = (json: string) =>
  /"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(json)?.[1]?.replaceAll('\\"', '"') ?? null;

/** The texts of a value, each with the name of its member. */
function textsIn(name: string, value: unknown): (readonly [name: string, text: string])[] {
  if (typeof value === "string") return [[name, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => textsIn(Array.isArray(value) ? name : key, one));
}

interface Reader {
  readonly text: string;
  at: number;
}

const maxDepth = 40;
const gap = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/|#[^\n]*)*/y;
const number = /[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/iy;
const word = /[\p{L}_$][\p{L}\p{N}_$-]*/uy;
const constants: Readonly<Record<string, unknown>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  null: null,
  None: null,
  undefined: null,
};
const quotes: Readonly<Record<string, string>> = { '"': '"', "'": "'", "“": "”", "`": "`" };

function match(reader: Reader, pattern: RegExp): string {
  pattern.lastIndex = reader.at;
  const [found = ""] = pattern.exec(reader.text) ?? [];
  reader.at += found.length;
  return found;
}

function fail({ at }: Reader): never {
  throw new SyntaxError(`no JSON at character ${at}`);
}

function readValue(reader: Reader, depth: number): unknown {
  if (depth > maxDepth) fail(reader);
  match(reader, gap);
  const first = reader.text.charAt(reader.at);
  if (first === "{") return readMembers(reader, depth);
  if (first === "[") return readItems(reader, depth);
  if (quotes[first] !== undefined) return readString(reader);
  const digits = match(reader, number);
  if (digits !== "") return Number(digits);
  const name = match(reader, word);
  return Object.hasOwn(constants, name) ? constants[name] : fail(reader);
}

/** Whether a list goes on; a comma before its end is left out. */
function goesOn(reader: Reader, end: string): boolean {
  match(reader, gap);
  if (reader.text.charAt(reader.at) === ",") reader.at += 1;
  match(reader, gap);
  if (reader.text.charAt(reader.at) !== end) return reader.at < reader.text.length || fail(reader);
  reader.at += 1;
  return false;
}

function readMembers(reader: Reader, depth: number): unknown {
  const members: [string, unknown][] = [];
  reader.at += 1;
  while (goesOn(reader, "}")) {
    const isQuoted = quotes[reader.text.charAt(reader.at)] !== undefined;
    const name = isQuoted ? readString(reader) : match(reader, word) || fail(reader);
    match(reader, gap);
    if (reader.text.charAt(reader.at) !== ":") fail(reader);
    reader.at += 1;
    members.push([name, readValue(reader, depth + 1)]);
  }
  return Object.fromEntries(members);
}

function readItems(reader: Reader, depth: number): unknown[] {
  const items: unknown[] = [];
  reader.at += 1;
  while (goesOn(reader, "]")) items.push(readValue(reader, depth + 1));
  return items;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

function readString(reader: Reader): string {
  const { text } = reader;
  const end = quotes[text.charAt(reader.at)] ?? '"';
  let read = "";
  for (reader.at += 1; reader.at < text.length; reader.at += 1) {
    const letter = text.charAt(reader.at);
    if (letter === end) {
      reader.at += 1;
      return read;
    }
    if (letter !== "\\") {
      read += letter;
      continue;
    }
    reader.at += 1;
    const escaped = text.charAt(reader.at);
    const code =
      escaped === "u" ? /^[\da-f]{4}/i.exec(text.slice(reader.at + 1, reader.at + 5))?.[0] : undefined;
    read +=
      code === undefined ? (escapes[escaped] ?? escaped) : String.fromCharCode(Number.parseInt(code, 16));
    if (code !== undefined) reader.at += code.length;
  }
  return fail(reader);
}
