import type { ErrorCode } from "@atelier/server/platform";

/** A failure as the server tells it: a code of its closed table and a sentence for people. */
export interface Failure {
  readonly code: ErrorCode | "offline";
  readonly message: string;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Reads a failure from what tRPC, the HTTP API or the network threw. */
export function failureOf(error: unknown): Failure {
  const code =
    field(field(error, "data"), "appCode") ?? field(error, "code") ?? field(field(error, "cause"), "code");
  const message = field(error, "message") ?? field(error, "detail");
  if (typeof code !== "string" || typeof message !== "string") return { code: "offline", message: "" };
  // The table is closed on the server; a code that this page does not know yet is shown with its sentence.
  return { code: code as ErrorCode, message };
}
