import { type Caller, requireRight, resolveCaller } from "../../accounts/index.ts";
import { AppError, requireReadable, ruleOf } from "../../platform/index.ts";
import { admitRead, admitWrite, streamLimits } from "../requests.ts";
import { appErrorOf, t, toTrpcError, type TrpcContext } from "./init.ts";

interface Call {
  readonly ctx: TrpcContext;
  readonly path: string;
  readonly type: string;
  readonly startedAtMs: number;
}

function log(call: Call, error: unknown): void {
  const fields = {
    procedure: call.path,
    type: call.type,
    durationMs: Math.round(performance.now() - call.startedAtMs),
    // Explicit, since a stream ends long after the answer to its request.
    ...(call.ctx.requestId === null ? {} : { requestId: call.ctx.requestId }),
  };
  const { log } = call.ctx.services;
  if (error === undefined) {
    log.info({ ...fields, code: "ok" }, "procedure call");
    return;
  }
  const appError = appErrorOf(toTrpcError(error));
  if (ruleOf(appError.code).httpStatus >= 500)
    log.error({ ...fields, code: appError.code, err: appError.cause ?? appError }, "procedure call");
  else log.info({ ...fields, code: appError.code }, "procedure call");
}

/** Throws when the session or key of the call has ended since. */
async function recheck({ services, request }: TrpcContext): Promise<void> {
  if (!(await resolveCaller(services, request.headers))) throw new AppError("unauthorized");
}

/** A generator that throws after its first value is out of reach of the middleware, so its errors are mapped here. */
async function* watched(call: Call, source: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  let checkedAtMs = performance.now();
  let failure: unknown;
  try {
    for await (const value of source) {
      const isDue = performance.now() - checkedAtMs > streamLimits.recheckMs;
      if (isDue) {
        await recheck(call.ctx);
        checkedAtMs = performance.now();
      }
      yield value;
    }
  } catch (error) {
    failure = error;
    throw toTrpcError(error);
  } finally {
    log(call, failure);
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Maps every error to its AppError's code and writes one line per call with duration and outcome. */
const report = t.middleware(async ({ ctx, path, type, next }) => {
  const call: Call = { ctx, path, type, startedAtMs: performance.now() };
  const result = await next();
  if (!result.ok) {
    log(call, result.error);
    throw toTrpcError(result.error);
  }
  if (type === "subscription" && isAsyncIterable(result.data))
    return { ...result, data: watched(call, result.data) };
  log(call, undefined);
  return result;
});

/** The pages' own procedures are not for keys with rights of their own: those look, and do all else by the HTTP API. */
function requireReadingKey(caller: Caller, type: string): void {
  requireRight(caller, "read");
  if (type === "mutation")
    throw new AppError("forbidden", "A key with chosen rights changes things by the HTTP API.");
}

/** Anybody, also without a session; `ctx.caller` may be null. */
export const publicProcedure = t.procedure.use(report).use(async ({ ctx, type, getRawInput, next }) => {
  requireReadable(await getRawInput());
  const caller = await ctx.findCaller();
  if (caller?.rights) requireReadingKey(caller, type);
  if (type === "mutation") await admitWrite(ctx.services, ctx.request, { caller });
  else await admitRead(ctx.services, caller);
  return next({ ctx: { caller } });
});

/** Any session, also a guest's, or an API key. */
export const memberProcedure = publicProcedure.use(({ ctx, next }) => {
  if (!ctx.caller) throw new AppError("unauthorized");
  return next({ ctx: { caller: ctx.caller } });
});

/** An admin's session or API key; anybody else is refused with `forbidden`. */
export const adminProcedure = memberProcedure.use(({ ctx, next }) => {
  if (!ctx.caller.isAdmin) throw new AppError("forbidden");
  return next();
});

function audited(describe: (input: unknown) => unknown) {
  return adminProcedure.use(async ({ ctx, path, getRawInput, next }) => {
    const result = await next();
    const code = result.ok ? "ok" : appErrorOf(result.error).code;
    const input = describe(await getRawInput());
    const fields = { audit: true, adminId: ctx.caller.userId, action: path, input, code };
    ctx.services.log.info(fields, "admin action");
    return result;
  });
}

/** Admin actions on data of others: each is logged with admin and action, also when it is refused. */
export const adminAction = audited((input) => input);

/** Admin actions on prompts: of their input only the role is logged, since no log holds words of prompts and talks. */
export const adminPromptAction = audited((input) =>
  typeof input === "object" && input !== null ? { role: Reflect.get(input, "role") } : null,
);
