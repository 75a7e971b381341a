export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields without those that are not of their type. */
function only(fields: Fields, isRight: Readonly<Record<string, (value: unknown) => boolean>>): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => !Object.hasOwn(isRight, name) || isRight[name]?.(value) !== false,
    ),
  );
}

export const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";

/** A call of a tool, or a part of one: with its arguments as an object, without `function`, or with a number as its id. */
function tidyCall(call: unknown): Fields[] {
  if (!isFields(call)) return [];
  const { function: inner, name, arguments: outer, ...rest } = call;
  const { arguments: args = outer, ...named } = isFields(inner) ? inner : { name };
  const text = isText(args) || args === undefined || args === null ? args : JSON.stringify(args);
  const id = isNumber(call["id"]) ? String(call["id"]) : call["id"];
  const index = isText(call["index"]) ? Number.parseInt(String(call["index"]), 10) : call["index"];
  const tidy = {
    ...rest,
    id,
    index: Number.isInteger(index) ? index : undefined,
    function: { ...only(named, { name: isText }), arguments: text },
  };
  return [only(tidy, { id: isText })];
}

/** Words as a text, or as parts of one. */
function tidyContent(content: unknown): unknown {
  if (isText(content)) return content;
  const parts = Array.isArray(content) ? content : [content];
  return parts.flatMap((part: unknown) =>
    isText(part) ? [{ type: "text", text: part }] : isFields(part) ? [{ type: "text", ...part }] : [],
  );
}

/** Members in which servers have what a model thinks: as a text, as an object, or as a list of its parts. */
const thoughtMembers = [
  "reasoning_content",
  "reasoning",
  "reasoning_text",
  "thinking",
  "reasoning_details",
  "thinking_blocks",
];

function thoughtOf(value: unknown): string {
  if (isText(value)) return String(value);
  if (Array.isArray(value)) return value.map(thoughtOf).join("");
  if (!isFields(value)) return "";
  const parts = [value["text"], value["thinking"], value["summary"], value["content"]];
  return String(parts.find(isText) ?? "");
}

function tidyDelta(delta: Fields): Fields {
  const { content, tool_calls, function_call: call, reasoning: _, ...rest } = delta;
  const calls = tool_calls ?? (isFields(call) ? { index: 0, function: call } : null);
  const listed = Array.isArray(calls) ? calls : [calls];
  const all = listed.flatMap(tidyCall);
  const thought = thoughtMembers.map((name) => thoughtOf(delta[name])).find((text) => text !== "");
  return {
    ...only(rest, { role: (value) => value === "assistant" }),
    reasoning_content: thought,
    content: tidyContent(content),
    ...(all.length > 0 ? { tool_calls: all } : {}),
  };
}

/** Other words of servers for the end of an answer. */
const endings: readonly (readonly [RegExp, string])[] = [
  [/^(?:max_?(?:new_|output_)?tokens|(?:max_?|model_?|token_?)length|token_limit|incomplete)$/i, "length"],
  [/^(?:tool_?(?:calls?|use)|function_?call)$/i, "tool_calls"],
  [/^(?:safety|sensitive|refusal|prohibited_content)$/i, "content_filter"],
  [/^(?:length|stop)$/i, ""],
];
/** The server gave up in the middle. */
const givenUp =
  /^(?:error|(?:network|engine|server|internal)_?error|abort(?:ed)?|cancell?ed|timeout|insufficient_system_resource|unavailable)$/i;

function endingOf(reason: unknown): string | null {
  if (typeof reason !== "string" || reason === "") return null;
  const found = endings.find(([pattern]) => pattern.test(reason))?.[1];
  return found === "" ? reason.toLowerCase() : (found ?? reason);
}

/** Some servers write the message of a whole answer instead of a delta, and a reason that is empty until there is one. */
function tidyChoice(choice: unknown): Fields[] {
  if (!isFields(choice)) return [];
  const delta = choice["delta"] ?? choice["message"];
  return [
    {
      ...choice,
      delta: isFields(delta) ? tidyDelta(delta) : null,
      finish_reason: endingOf(choice["finish_reason"]),
    },
  ];
}

/** What went wrong, with a message at least. */
function tidyError(error: unknown): Fields {
  if (!isFields(error)) return { message: String(error) };
  return isText(error["message"]) ? error : { ...error, message: JSON.stringify(error) };
}

const isSuccess = (text: unknown) => isText(text) && /^(?:ok|succe)/i.test(String(text));

/** Whether a code beside a message is that of an error: not where it is empty, zero, 2xx or a word of success. */
function isFault({ code, message }: Fields): boolean {
  if (isSuccess(code) || isSuccess(message)) return false;
  const number = Number(code);
  return Number.isNaN(number) ? isText(code) : number !== 0 && (number < 200 || number > 299);
}

/** Some servers have the member of an error in each answer. */
const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || value === false || value === 0;
export const isNoError = (error: unknown) =>
  isNothing(error) || (typeof error === "object" && Object.values(error ?? {}).every(isNothing));

/**
 * The error in an answer or in an event of it: in its own member, as the whole, or as the reason of an end; undefined
 * without one.
 */
export function errorIn(answer: Fields): unknown {
  const { error, choices, data, object, type, message, detail } = answer;
  if (!isNoError(error)) return error;
  if (Array.isArray(choices)) {
    const reasons = choices.map((choice: unknown) => (isFields(choice) ? choice["finish_reason"] : null));
    const reason = reasons.find((each): each is string => typeof each === "string" && givenUp.test(each));
    return reason && { message: `The server ended the answer: ${reason}.`, code: 503 };
  }
  const isNamed = object === "error" || type === "error";
  const isCoded = data === undefined && isText(message) && isFault(answer);
  return isNamed || isCoded || isText(detail) ? { message: detail, ...answer } : undefined;
}

/** Counts of tokens, with those of their parts; some servers write them as texts. */
function tidyUsage(usage: Fields, isPart = false): Fields {
  return Object.fromEntries(
    Object.entries(usage).flatMap(([name, value]): [string, unknown][] => {
      const count = isText(value) && /^\d{1,15}$/.test(String(value)) ? Number(value) : value;
      if (isNumber(count)) return [[name, count]];
      return isFields(count) && !isPart ? [[name, tidyUsage(count, true)]] : [];
    }),
  );
}

/** Numbers as they are, or as base64 of their bytes; some servers put a list around them. */
function numbersOf(vector: unknown): unknown {
  if (Array.isArray(vector)) return vector.length === 1 && Array.isArray(vector[0]) ? vector[0] : vector;
  if (typeof vector !== "string") return vector;
  const bytes = Buffer.from(vector, "base64");
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, at) => bytes.readFloatLE(4 * at));
}

/** Vectors in the order of their texts, which the SDK takes from the order of the answer and not from its numbers. */
export function tidyVectors({ data, usage }: Fields): Fields {
  const vectors = (Array.isArray(data) ? data : []).filter(isFields);
  const places = vectors.map(({ index }) => Number(index ?? Number.NaN));
  const isPlaced = places.every(Number.isInteger) && new Set(places).size === places.length;
  const inOrder = isPlaced ? vectors.toSorted((a, b) => Number(a["index"]) - Number(b["index"])) : vectors;
  const counts = isFields(usage) ? tidyUsage(usage) : {};
  const tokens = counts["prompt_tokens"] ?? counts["total_tokens"];
  return {
    data: inOrder.map(({ embedding }) => ({ embedding: numbersOf(embedding) })),
    ...(tokens === undefined ? {} : { usage: { prompt_tokens: tokens } }),
  };
}

/** A chunk as the SDK takes it, which refuses a whole answer for one field that it does not know. */
export function tidyChunk(chunk: Fields): Fields {
  const { error: _, choices, usage, ...rest } = chunk;
  const error = errorIn(chunk);
  if (error !== undefined) return { error: tidyError(error) };
  return {
    ...only(rest, { id: isText, model: isText, created: isNumber }),
    choices: (Array.isArray(choices) ? choices : []).flatMap(tidyChoice),
    ...(isFields(usage) ? { usage: tidyUsage(usage) } : {}),
  };
}
