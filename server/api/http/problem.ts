import { STATUS_CODES } from "node:http";
import { z } from "zod";
import { errorRules, ruleOf, type AppError, type ErrorCode } from "../../platform/index.ts";

/** RFC 9457. The same shape in every answer that is not a success. */
export const problemSchema = z.object({
  type: z.literal("about:blank"),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe("For people"),
  code: z.enum(Object.keys(errorRules) as [ErrorCode, ...ErrorCode[]]).describe("For programs"),
  errors: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .optional()
    .describe("The wrong fields"),
});

const retryAfterSeconds: Partial<Record<ErrorCode, number>> = {
  rate_limited: 60,
  queue_full: 60,
  database_unavailable: 5,
  storage_unavailable: 5,
};

/** An error as `application/problem+json`; further `details` that are safe to show stand beside the standard members. */
export function problemResponse(error: AppError): Response {
  const { httpStatus } = ruleOf(error.code);
  const { issues, ...details } = error.details ?? {};
  const body = {
    ...details,
    type: "about:blank",
    title: STATUS_CODES[httpStatus] ?? "Error",
    status: httpStatus,
    detail: error.message,
    code: error.code,
    ...(issues ? { errors: issues } : {}),
  };
  const seconds = retryAfterSeconds[error.code];
  return new Response(JSON.stringify(body), {
    status: httpStatus,
    headers: {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(seconds ? { "retry-after": String(seconds) } : {}),
    },
  });
}
