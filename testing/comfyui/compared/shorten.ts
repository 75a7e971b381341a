import { isObject, objectOf, type JsonObject } from "../json.ts";

const paths = /(?:\/[\w.-]+)+\/?/g;

/** Paths differ from server to server. */
function withoutPaths(text: unknown): unknown {
  return typeof text === "string" ? text.replaceAll(paths, "<path>") : text;
}

/** A message of the socket or of the history with what is compared of it. */
export function shorten(message: unknown): unknown {
  if (Array.isArray(message)) return [message[0], shortenData(objectOf(message[1]))];
  if (!isObject(message)) return message;
  if (!isObject(message.data)) return shortenFrame(message);
  return { [String(message.type)]: shortenData(message.data) };
}

function shortenFrame(frame: JsonObject): JsonObject {
  // Two encoders do not agree on the length of a picture.
  const parts = Object.entries(frame).filter(([key]) => key !== "len");
  return Object.fromEntries(parts.map(([key, part]) => [key, isObject(part) ? shortenData(part) : part]));
}

const told = ["node", "node_id", "nodes", "output", "value", "max", "exception_type", "image_type"];

function shortenData(data: JsonObject): JsonObject {
  const short: JsonObject = {};
  for (const key of told) if (key in data) short[key] = shortenValue(data[key]);
  if ("exception_message" in data) short.exception_message = withoutPaths(data.exception_message);
  if ("current_inputs" in data) short.current_inputs = Object.keys(objectOf(data.current_inputs));
  return short;
}

/** The progress of each node as one text. */
function shortenValue(value: unknown): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => {
    const { state, value: done, max } = objectOf(member);
    return [key, typeof state === "string" ? `${state} ${Number(done)}/${Number(max)}` : member];
  });
  return Object.fromEntries(entries);
}
