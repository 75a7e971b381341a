import { resolveCaller, type Caller } from "../../accounts/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";
import { assertSameOrigin } from "../same-origin.ts";

const readMethods = new Set(["GET", "HEAD"]);

/**
 * Who sends an HTTP request. Throws `unauthorized` when nobody does, and `forbidden` for a write that rests on the
 * cookie alone and may come from another site.
 */
export async function requireCaller(services: Services, request: Request): Promise<Caller> {
  const caller = await resolveCaller(services, request.headers);
  if (!caller) throw new AppError("unauthorized");
  if (caller.via === "session" && !readMethods.has(request.method)) assertSameOrigin(services.env, request);
  return caller;
}
