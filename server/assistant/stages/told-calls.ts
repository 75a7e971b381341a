import { outermostObjects } from "./loose-json.ts";
import { thinkingMarks } from "./thinking.ts";

/*
 * Calls of tools as models write them in their own markup. A server whose parser does not know the markup leaves it in the
 * words of the answer: the user would read it, and the tool would not run.
 */

/** A call of a tool, its arguments as JSON. */
interface ToldCall {
  readonly name: string;
  readonly arguments: string;
}

/** What is sure of an answer: its words without the calls in them, and these. */
export interface Told {
  readonly text: string;
  readonly calls: readonly ToldCall[];
}

/** How a call begins and ends; without its end it goes to the end of the answer. */
const forms: readonly (readonly [opening: string, closing: RegExp])[] = [
  ["<tool_call>", /<\/tool_call>/],
  [String.raw`<function=(?=[\w.:-]+>)`, /<\/function>/],
  [String.raw`\[TOOL_REQUEST\]`, /\[END_TOOL_REQUEST\]/],
  [String.raw`\[TOOL_CALL\]`, /\[\/TOOL_CALL\]/],
  [String.raw`\[TOOL_CALLS\]`, /<\/s>/],
  [String.raw`<\|python_tag\|>`, /<\|eo[mt]_id\|>/],
  [String.raw`<\|tool_calls_section_begin\|>`, /<\|tool_calls_section_end\|>/],
  [String.raw`<\|tool_call_(?:start|begin)\|>`, /<\|tool_call_end\|>/],
  ["<｜tool▁calls▁begin｜>", /<｜tool▁calls▁end｜>/],
  [String.raw`<\|channel\|>\s*\w+\s+to=[\w.]+`, /<\|call\|>/],
  [String.raw`<\|start\|>\s*assistant\s+to=[\w.]+`, /<\|call\|>/],
];
const openings = new RegExp(forms.map(([opening]) => `(${opening})`).join("|"));
/** Of harmony without its marks, which some servers take away. */
const bareHarmony = "commentary to=functions.";
/** An answer that is nothing but a call has no markup at all. */
const bareCall =
  /^\s*(?:(?:```(?:json)?\s*)?\{\s*"(?:name|tool|function|type)"\s*:|commentary to=functions\.)/;
const mayBeBare = /^\s*(?:`{0,3}|```(?:j(?:s(?:on?)?)?)?\s*|(?:```(?:json)?\s*)?\{\s*(?:"[a-z]{0,8}"?\s*)?)$/;

/** The end of a text that may be the beginning of a call. */
const mayBegin = /(?:<[|｜]?[\w▁=.:-]*(?:[|｜]>[^<\n]{0,40}|[|｜])?|\[[A-Z_]*)$/;
/** A longer one is none. */
const longestCall = 6_000;
/** Before the first word. */
const longestGap = 100;
/** Characters of an answer behind which no call is looked for: each mark of one is weighed with all that stands before it. */
const longestSearched = 100_000;

/** Whether each mark of a thought in a text ends one. */
const thoughtEnds = (text: string) =>
  [...text.matchAll(thinkingMarks)].map(({ groups }) => groups?.["closing"] !== undefined);
/** Where models think aloud nothing is called. */
const isThought = (text: string) => thoughtEnds(text).at(-1) === false;
/** Some templates swallow the beginning of a thought. */
const endsThought = (text: string) => thoughtEnds(text)[0] === true;

/** Whether a text ends in a block of code that shows something: a whole answer may also be a block. */
function isExample(text: string): boolean {
  const isOpen = text.split("```").length % 2 === 0;
  return isOpen && text.slice(0, text.lastIndexOf("```")).trim() !== "";
}

interface Span {
  readonly at: number;
  readonly length: number;
  /** Without its end words of the answer may follow. */
  readonly isClosed: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Finds the calls of these tools in the words of an answer as it grows; what calls none of them stays as it is. */
export class ToldCalls {
  readonly #names: ReadonlySet<string>;
  #given = "";
  #waiting = "";
  /** With the length of the words before it. */
  readonly #called: { readonly call: ToldCall; readonly at: number }[] = [];

  constructor(names: Iterable<string>) {
    this.#names = new Set(names);
  }

  add(text: string): Told {
    this.#waiting += text;
    return this.#take(false);
  }

  /** The rest, and all calls: what comes behind one may show that it was a thought. */
  end(): Told {
    return this.#take(true);
  }

  #take(isEnd: boolean): Told {
    let text = "";
    const give = (upTo: number) => {
      text += this.#waiting.slice(0, upTo);
      this.#given += this.#waiting.slice(0, upTo);
      this.#waiting = this.#waiting.slice(upTo);
    };
    while (this.#waiting !== "") {
      const span = this.#given.length > longestSearched ? null : this.#nextSpan(isEnd);
      if (span === "open") break;
      if (span === null) {
        give(isEnd ? this.#waiting.length : sureLength(this.#waiting));
        break;
      }
      give(span.at);
      const part = this.#waiting.slice(0, span.length);
      const found = this.#names.size === 0 ? [] : callsIn(part, this.#names);
      this.#called.push(...found.map((call) => ({ call, at: this.#given.length })));
      if (found.length === 0) give(span.length);
      else {
        const length = span.isClosed ? span.length : callLength(part, found, this.#names);
        this.#waiting = this.#waiting.slice(length);
      }
    }
    const sure = isEnd ? this.#called.splice(0) : [];
    const calls = sure.filter(({ at }) => !endsThought(this.#given.slice(at))).map(({ call }) => call);
    return { text, calls };
  }

  /** The next part that may be a call; `open` while its end is awaited. */
  #nextSpan(isEnd: boolean): Span | "open" | null {
    const bare = this.#bareSpan(isEnd);
    if (bare) return bare;
    const found = openings.exec(this.#waiting);
    const form = forms[found?.slice(1).findIndex((group) => group !== undefined) ?? -1];
    if (!found || !form) return null;
    const before = this.#given + this.#waiting.slice(0, found.index);
    // In quotes of code it is a word like any other.
    if (before.endsWith("`") || isThought(before) || isExample(before))
      return { at: found.index + found[0].length, length: 0, isClosed: true };
    const rest = this.#waiting.slice(found.index);
    const closing = form[1].exec(rest);
    if (closing) return { at: found.index, length: closing.index + closing[0].length, isClosed: true };
    if (!isEnd && rest.length <= longestCall) return "open";
    return { at: found.index, length: rest.length, isClosed: false };
  }

  /** An answer that begins as a call without any markup. */
  #bareSpan(isEnd: boolean): Span | "open" | null {
    const isFirst = this.#given.length < longestGap && this.#given.trim() === "";
    if (!isFirst) return null;
    const { length } = this.#waiting;
    if (bareCall.test(this.#waiting))
      return isEnd || length > longestCall ? { at: 0, length, isClosed: false } : "open";
    const mayBe = mayBeBare.test(this.#waiting) || bareHarmony.startsWith(this.#waiting.trimStart());
    return !isEnd && mayBe ? "open" : null;
  }
}

function sureLength(text: string): number {
  const start = mayBegin.exec(text);
  return start ? start.index : text.length;
}

/** The calls that a part of an answer is; none where it calls anything that is not there. */
function callsIn(part: string, names: ReadonlySet<string>): readonly ToldCall[] {
  if (!beginsCall(unmarked(part), names)) return [];
  return asObjects(part, names) ?? asMarkup(part, names) ?? asNamed(part, names) ?? [];
}

const mark =
  /^\s*commentary to=|<\|channel\|>\s*\w+\s+to=|<\|start\|>\s*assistant\s+to=|<\|constrain\|>\s*\w+|(?:\bfunction)?<｜[^｜<>]*｜>|<\|[^|<>]*\|>|<function=|<\/?[\w=.:-]+>|\[\/?[A-Z_]+\]/g;

const unmarked = (part: string) => part.replaceAll(mark, " ");

/** Some write before the name what it is. */
const labels = /^\W*(?:(?:function|tool|name)\b[^\w.]+)+/i;

/** Whether an object or a name of a tool comes first; anything else is a sentence about the mark. */
function beginsCall(body: string, names: ReadonlySet<string>): boolean {
  const [first = ""] = /[\w.:/-]+/.exec(body.replace(labels, "")) ?? [];
  return /^[\s[`]*(?:json\s*)?\{/.test(body) || first.split(/[.:/]/).some((word) => names.has(word));
}

/** Where these calls end in a part without an end, so that no word behind them is lost. */
function callLength(part: string, calls: readonly ToldCall[], names: ReadonlySet<string>): number {
  const sought = JSON.stringify(calls);
  const ends = [...part.matchAll(/[})][\])}\s`]*/g)].map(({ 0: end, index }) => index + end.length);
  const end = ends.find((each) => JSON.stringify(callsIn(part.slice(0, each), names)) === sought);
  return end !== undefined && /\p{L}/u.test(unmarked(part.slice(end))) ? end : part.length;
}

/** `{"name": ..., "arguments": {...}}`, once or several times. */
function asObjects(part: string, names: ReadonlySet<string>): ToldCall[] | null {
  const objects = (outermostObjects(part) ?? []).map((object) => (isFields(object) ? callOf(object) : null));
  const calls = objects.filter((call) => call !== null && names.has(call.name));
  return calls.length > 0 && calls.length === objects.length ? calls.filter((call) => call !== null) : null;
}

function callOf(object: Fields): ToldCall | null {
  const { function: inner } = object;
  if (isFields(inner)) return callOf(inner);
  const name = [object["name"], object["tool"], inner].find((each) => typeof each === "string");
  const given = ["arguments", "parameters", "args", "input"].map((member) => object[member]);
  const args = given.find((each) => each !== undefined) ?? {};
  if (typeof name !== "string") return null;
  return { name: ownName(name), arguments: typeof args === "string" ? args : JSON.stringify(args) };
}

/** Models put a namespace before the name. */
const ownName = (name: string) => name.split(/[.:/]/).at(-1)?.trim() ?? "";

const parameter =
  /<parameter=([\w-]+)>([^]*?)(?:<\/parameter>|(?=<parameter=)|$)|<arg_key>([^]*?)<\/arg_key>\s*<arg_value>([^]*?)<\/arg_value>/g;

/** Calls of the form `<function=name><parameter=key>value</parameter>`, or a name with `<arg_key>` and `<arg_value>`; all values are texts. */
function asMarkup(part: string, names: ReadonlySet<string>): ToldCall[] | null {
  const bodies = part.split(/(?=<function=)/).filter((body) => nameIn(body, names) !== null);
  const calls = bodies.flatMap((body) => {
    const found = [...body.matchAll(parameter)].map(([, name, value, key, other]) => [
      (name ?? key ?? "").trim(),
      (value ?? other ?? "").trim(),
    ]);
    const isBare = found.length === 0 && /^\W*[\w.:-]+\W*$/.test(unmarked(body));
    const name = nameIn(body, names) ?? "";
    return found.length > 0 || isBare ? [{ name, arguments: JSON.stringify(Object.fromEntries(found)) }] : [];
  });
  return calls.length > 0 ? calls : null;
}

/** The name of a tool that stands by itself before the arguments. */
function nameIn(body: string, names: ReadonlySet<string>): string | null {
  const [head = ""] = body.split(/[{(]|<parameter=|<arg_key>/);
  return head.match(/\w+/g)?.find((word) => names.has(word)) ?? null;
}

/** Names with their arguments behind them, as JSON or in the brackets of a function. */
function asNamed(part: string, names: ReadonlySet<string>): ToldCall[] | null {
  const starts = [...part.matchAll(/\w+/g)].filter(
    ([word], at, all) => names.has(word) && !/["']$/.test(part.slice(0, all[at]?.index)),
  );
  const calls = starts.map(({ 0: name, index }, at) => {
    const body = part.slice(index + name.length, starts[at + 1]?.index);
    const bracket = /^\(([^]*)\)/.exec(body)?.[1];
    const text = bracket === undefined ? body : `{${bracket.replaceAll(/(^|,)\s*(\w+)\s*=/g, "$1$2:")}}`;
    const objects = outermostObjects(text) ?? [];
    return objects.length === 1 ? { name, arguments: JSON.stringify(objects[0]) } : null;
  });
  const read = calls.filter((call) => call !== null);
  return read.length > 0 && read.length === calls.length ? read : null;
}
