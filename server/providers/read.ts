/** A foreign value as an object; empty when it is none. */
export function readRecord(value: unknown): Readonly<Record<string, unknown>> {
  // Safe: any object can be read by name.
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** A foreign value as text; null when it is none. */
export function readText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
