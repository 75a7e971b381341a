import { authOf } from "../accounts/index.ts";
import { ruleOf } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { classifyError } from "./classify-error.ts";

/** Answers a request below /api/auth. Errors have the shape that the auth client reads: `{ code, message }`. */
export async function handleAuth(services: Services, request: Request): Promise<Response> {
  try {
    return await authOf(services).handler(request);
  } catch (error) {
    const appError = classifyError(error);
    services.log.error(
      { code: appError.code, err: appError.cause ?? appError, part: "accounts" },
      "auth request failed",
    );
    const { code, message } = appError;
    return Response.json({ code, message }, { status: ruleOf(code).httpStatus });
  }
}
