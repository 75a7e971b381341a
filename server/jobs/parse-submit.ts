import { z } from "zod";
import { AppError, issuesOf } from "../platform/index.ts";
import { requireConsent } from "../safety/index.ts";
import { submitSchema, type SubmitRequest } from "./request.ts";

/** Parses what a caller sent; a missing consent has a code of its own, everything else is `bad_request`. */
export function parseSubmit(input: unknown): SubmitRequest {
  if (typeof input === "object" && input !== null && "kind" in input && input.kind === "outfit_change") {
    requireConsent("params" in input ? input.params : undefined);
  }
  const result = submitSchema.safeParse(input);
  if (result.success) return result.data;
  throw new AppError("bad_request", z.prettifyError(result.error), {
    details: { issues: issuesOf(result.error) },
  });
}
