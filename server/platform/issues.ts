import type { z } from "zod";

/** One wrong field of a request. */
export interface FieldIssue {
  /** Dotted path, empty for the whole. */
  readonly path: string;
  readonly message: string;
}

type Issue = z.core.$ZodIssue;

/** The values that a union would take, where each of its parts is one. */
function choicesOf({ errors }: z.core.$ZodIssueInvalidUnion): string | null {
  const parts = errors.flatMap(([first]) =>
    first?.code === "invalid_value" && first.path.length === 0 ? first.values : [null],
  );
  return parts.length === 0 || parts.includes(null) ? null : parts.map(String).join(", ");
}

const ofType = /^Invalid input: expected (.+), received (.+)$/;

/** The library's own words as what to do; texts of a schema's own stay. */
function wordsOf(issue: Issue): string {
  const { code, message } = issue;
  const [, expected, received] = ofType.exec(message) ?? [];
  if (received === "undefined") return `is missing: expected ${expected}`;
  if (received !== undefined) return `must be ${expected}, not ${received}`;
  if (message === "Invalid UUID") return "must be an id: a UUID such as 01a22f47-600a-707a-a2d0-fb2807c8d56d";
  const choices = code === "invalid_union" && message === "Invalid input" ? choicesOf(issue) : null;
  return choices === null ? message : `must be one of ${choices}`;
}

/** The wrong fields as callers see them. */
export function issuesOf(error: z.ZodError): FieldIssue[] {
  return error.issues.map((issue) => ({ path: issue.path.join("."), message: wordsOf(issue) }));
}

/** All of them in one line. */
export function lineOfIssues(issues: readonly FieldIssue[]): string {
  return issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
}
