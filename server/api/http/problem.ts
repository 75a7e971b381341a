import { z } from "zod";
import { errorRules, toProblem, type AppError, type ErrorCode } from "../../platform/index.ts";

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

/** An error as `application/problem+json`. */
export function problemResponse(error: AppError): Response {
  const { status, headers, body } = toProblem(error);
  return new Response(JSON.stringify(body), { status, headers });
}
