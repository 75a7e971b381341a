import { resolveCaller, type Caller } from "../../accounts/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";
import { admitWrite } from "../same-origin.ts";

const readMethods = new Set(["GET", "HEAD"]);

/**
 * Who sends an HTTP request. Throws `unauthorized` without a caller, and `forbidden` or `rate_limited` for a write by
 * session that is not admitted.
 */
export async function requireCaller(services: Services, request: Request): Promise<Caller> {
  const caller = await resolveCaller(services, request.headers);
  if (!caller) throw new AppError("unauthorized");
  if (!readMethods.has(request.method)) await admitWrite(services, request, caller);
  return caller;
}
