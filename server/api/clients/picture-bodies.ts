import { z } from "zod";
import { uploadLimits } from "../../images/index.ts";
import {
  AppError,
  createPermits,
  isAppError,
  issuesOf,
  lineOfIssues,
  parseRequest,
  places,
  requireReadable,
  sharesOf,
  textOfRequest,
} from "../../platform/index.ts";
import { maxJsonBytes, readLimited } from "../requests.ts";
import type { ClientInput } from "./route.ts";

/** A picture and its mask in base64, and the settings. */
const maxBodyBytes = 2 * Math.ceil((uploadLimits.sizeBytes * 4) / 3) + maxJsonBytes;
/** A body that takes longer gives its permit back. */
const bodyMs = 60_000;

/** Bodies that are in memory at once, two of one user, so that slow ones of a few users do not hold up the others. */
const withBodyPermit = createPermits({
  slots: places.body.all,
  heavySlots: places.body.all,
  ownerSlots: places.body.perUser,
  uninvitedSlots: sharesOf("body").uninvited,
});

/**
 * The bytes of a picture as programs write it: base64 or base64url, whatever the lines, with or without the head of a data address,
 * in which a name may have a comma; escaped as an address may be.
 */
export function bytesOfPicture(text: string): Buffer {
  const base64 = text.slice(/^\s*data:/i.test(text) ? text.lastIndexOf(",") + 1 : 0);
  return Buffer.from(base64.includes("%") ? unescaped(base64) : base64, "base64");
}

/** At once: a step for each escape of a large text would hold up everybody. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A picture in base64. */
export const pictureSchema = z.string().min(1).transform(bytesOfPicture);

/** JSON says nothing by null, forms by an empty text. */
export const withoutNothing = (body: unknown): unknown =>
  typeof body === "object" && body !== null && !Array.isArray(body)
    ? Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== ""))
    : body;

/** Throws `bad_request` with each member that does not fit. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issues = issuesOf(result.error);
  throw new AppError("bad_request", lineOfIssues(issues), { details: { issues } });
}

/** Reads a JSON body with pictures. Throws `request_too_large`, `bad_request`. */
export function readBody<T>(input: ClientInput, schema: z.ZodType<T>): Promise<T> {
  return readJson(input, maxBodyBytes, (body) => parseBody(schema, body));
}

/** Reads any JSON body that may have pictures; `parse` runs while its permit is held. Throws the same. */
export async function readJson<T>(
  { request, caller }: ClientInput,
  maxBytes: number,
  parse: (body: unknown) => T,
): Promise<T> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw new AppError("request_too_large");
  return withBodyPermit(
    { ownerId: caller.userId, weight: "light", isUninvited: caller.isSelfMade === true },
    async () => {
      const bytes = await readInTime(request, maxBytes);
      if (!bytes) throw new AppError("request_too_large");
      const body = parseRequest(textOfRequest(bytes));
      requireReadable(body);
      return parse(body);
    },
  );
}

async function readInTime({ headers, body }: Request, maxBytes: number): Promise<Uint8Array | null> {
  const late = AbortSignal.timeout(bodyMs);
  const bounded = body?.pipeThrough(new TransformStream<Uint8Array<ArrayBuffer>>(), { signal: late }) ?? null;
  try {
    return await readLimited({ headers, body: bounded }, maxBytes);
  } catch (cause) {
    if (isAppError(cause) && !late.aborted) throw cause;
    const text = late.aborted ? `The body took longer than ${bodyMs / 1_000} s.` : "The body was broken off.";
    throw new AppError("bad_request", text, { cause });
  }
}
