import type { Failure } from "../client/failures.ts";

/** Whether a failure's own sentence says more than its code: what is wrong with this very picture. */
export function hasOwnAdvice({ code, message }: Failure): boolean {
  return code.endsWith("_unsuitable") && message !== "";
}
