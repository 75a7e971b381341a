import { resolveCaller, type Caller } from "../../accounts/index.ts";
import type { Services } from "../../services/index.ts";

/** What every procedure starts from; procedures of `memberProcedure` also have `caller`. */
export interface TrpcContext {
  readonly services: Services;
  readonly request: Request;
  /** Who calls; asked for once per request, however many procedures a batch holds. */
  findCaller(): Promise<Caller | null>;
}

export function createContext(services: Services, request: Request): TrpcContext {
  let found: Promise<Caller | null> | undefined;
  return {
    services,
    request,
    findCaller: () => (found ??= resolveCaller(services, request.headers)),
  };
}
