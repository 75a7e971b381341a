import { parseForeignJson, storableText } from "../platform/index.ts";
import { ProviderError, type WebhookRequest } from "./port.ts";

/** A foreign value as an object; empty when it is none. */
export function readRecord(value: unknown): Readonly<Record<string, unknown>> {
  // A cast, since TypeScript does not index `object`; a missing member reads as undefined.
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The error in an answer; Google puts the answer into a list, also at its address with OpenAI's interface. */
export function readError(json: unknown): Readonly<Record<string, unknown>> {
  const [first = json]: unknown[] = Array.isArray(json) ? json : [];
  return readRecord(readRecord(first)["error"]);
}

/** A foreign value as text; null when it is none. */
export function readText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** The JSON of a webhook; throws class `auth` when it is none, since no provider sends such a body. */
export function readBody({ rawBody }: WebhookRequest): Readonly<Record<string, unknown>> {
  const body = parseForeignJson(new TextDecoder().decode(rawBody));
  if (body === undefined) throw new ProviderError("auth", "The body of the webhook is no JSON.");
  return readRecord(body);
}

/** Far above the ids of all providers. */
const maxIdLength = 500;

/** The id that a webhook is about; throws class `auth` without one. */
export function namedId(body: Readonly<Record<string, unknown>>, name: string): string {
  const id = readText(body[name]);
  if (id === null) throw new ProviderError("auth", "The webhook names no run.");
  return storableText(id).slice(0, maxIdLength);
}
