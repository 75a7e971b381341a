import {
  type Caller,
  notAdmin,
  refuseGuest,
  refuseLack,
  requireRight,
  resolveCaller,
} from "../../accounts/index.ts";
import { recordAct } from "../../audit/index.ts";
import { AppError, requireReadable, isFault } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { retellAll } from "../../words.ts";
import { streamLimits } from "../../live/index.ts";
import { admitRead, admitWrite } from "../requests.ts";
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
  if (isFault(appError.code))
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
  return { ...result, data: retellAll(result.data) };
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

/** Keys are for accounts: a guest would lose theirs with the cookie, and a key must not make further keys. */
export const accountProcedure = memberProcedure.use(({ ctx, next }) => {
  refuseGuest(ctx.caller);
  if (ctx.caller.via !== "session") throw new AppError("forbidden", "API keys are managed in the browser.");
  return next();
});

/** What acts later without a session of its own: an admin who lacks a second factor must not make what has an admin's rights then. */
export const grantProcedure = accountProcedure.use(({ ctx, next }) => {
  refuseLack(ctx.caller);
  return next();
});

/** An admin's session or API key; anybody else is refused with `forbidden`. */
export const adminProcedure = memberProcedure.use(({ ctx, next }) => {
  if (!ctx.caller.isAdmin) throw notAdmin(ctx.caller);
  return next();
});

/** Logs each call, and adds it to the audit log where `isEntry` says so. */
function audited(describe: (input: unknown) => object, isEntry: (code: string) => boolean) {
  return adminProcedure.use(async ({ ctx, path, getRawInput, next }) => {
    const result = await next();
    const code = result.ok ? "ok" : appErrorOf(result.error).code;
    const details = describe(await getRawInput());
    const { services, caller } = ctx;
    const fields = { audit: true, adminId: caller.userId, action: path, input: details, code };
    services.log.info(fields, "admin action");
    if (isEntry(code)) await noteAction(services, { path, code, details, adminId: caller.userId });
    return result;
  });
}

interface Action {
  readonly path: string;
  readonly code: string;
  readonly details: object;
  readonly adminId: string;
}

/** The act is done or refused by now, so the answer stays what it is when its entry cannot be written; of a refused one no input is kept. */
async function noteAction(services: Services, { path, code, details, adminId }: Action): Promise<void> {
  const id: unknown = "id" in details ? details.id : null;
  const object = typeof id === "string" && /^[\w:.-]{1,200}$/.test(id) ? id : null;
  try {
    const isKept = code === "ok" && JSON.stringify(details).length <= maxDetailsLength;
    await recordAct(services.db, {
      kind: `admin.${path.replace(/^admin\./, "")}`,
      by: adminId,
      object,
      outcome: code,
      details: isKept ? { ...details } : {},
    });
  } catch (err) {
    services.log.error({ err, action: path, code }, "admin action not added to the audit log");
  }
}

const maxDetailsLength = 2_000;

/** The input of an act, without what was typed to confirm it: for a user that is an e-mail address. */
function withoutConfirmation(input: unknown): object {
  const { confirm: _confirm, ...rest } = Object(input);
  return rest;
}

/** Admin actions on data of others: each is logged and added to the audit log with admin and action, also when it is refused. */
export const adminAction = audited(withoutConfirmation, () => true);

/** `adminAction` whose verb adds the entry in its own transaction; here only refusals are added. */
export const recordedAdminAction = audited(withoutConfirmation, (code) => code !== "ok");

/** Admin actions on prompts: of their input only the role is kept, since no log holds words of prompts and talks. */
export const adminPromptAction = audited(
  (input) => ({ role: Reflect.get(Object(input), "role") }),
  () => true,
);
