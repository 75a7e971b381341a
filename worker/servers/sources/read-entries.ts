import { AppError, isAppError, issuesOf } from "@atelier/server/platform";
import type { ZodType } from "zod";
import type { Refuse } from "./source.ts";

/**
 * Reads each entry of a list by itself: one for which `read` throws an AppError is told and passed over, so that it costs
 * nobody the others. Throws `proxy_error` when there are entries and none can be read.
 */
export function readEntries<T>(
  entries: readonly unknown[],
  read: (entry: unknown) => T,
  refuse: Refuse,
): T[] {
  const found: T[] = [];
  for (const [index, entry] of entries.entries()) {
    try {
      found.push(read(entry));
    } catch (error) {
      if (!isAppError(error)) throw error;
      refuse(`entry ${index + 1}: ${error.message}`);
    }
  }
  if (entries.length > 0 && found.length === 0)
    throw new AppError("proxy_error", "No entry of the list of servers can be read.");
  return found;
}

/** Throws `bad_request` with what is wrong, without the values. */
export function parseEntry<T>(schema: ZodType<T>, entry: unknown): T {
  const parsed = schema.safeParse(entry);
  if (parsed.success) return parsed.data;
  const issues = issuesOf(parsed.error).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  throw new AppError("bad_request", issues.join("; "));
}
