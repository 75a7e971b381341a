import type { z } from "zod";

/** One wrong field of a request. */
export interface FieldIssue {
  /** Dotted path, empty for the whole. */
  readonly path: string;
  readonly message: string;
}

/** The wrong fields as callers see them. */
export function issuesOf(error: z.ZodError): FieldIssue[] {
  return error.issues.map((issue) => ({ path: issue.path.join("."), message: issue.message }));
}
