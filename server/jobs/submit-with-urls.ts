import type { InputRole } from "../engines.ts";
import { ingest, purgeImages, uploadLimits } from "../images/index.ts";
import { AppError, isAppError, newId, pictureLimits, safeFetch } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { answerKnown, findKnownJob, keyOfJob } from "./admission.ts";
import { parseSubmit, type SubmitRequest, submitWithUrlsSchema } from "./request.ts";
import type { SubmitOptions } from "./draft.ts";
import { submit, type Submitted } from "./submit.ts";

const fetchMs = 20_000;

interface UrlOptions extends Omit<SubmitOptions, "asked" | "newInputs"> {
  readonly signal: AbortSignal;
  /** Bounds what is fetched at once; called only when there is something to fetch. */
  readonly inPlace: <T>(work: () => Promise<T>) => Promise<T>;
}

interface UrlInput {
  readonly role: InputRole;
  readonly url: string;
  /** The picture goes with its job (`takesInputsAlong`), so it must not be one that the owner has. */
  readonly isJobs?: boolean;
}

/** Whether the inputs that came with an unparsed request go with its job; a selection leaves its picture. */
export function takesInputsAlong(request: unknown): boolean {
  const { retention, kind } = Object(request);
  return retention === "ephemeral" && kind !== "segment";
}

/** The pictures of a parsed request that are addresses. */
function urlsOf(request: SubmitRequest): UrlInput[] {
  const isJobs = takesInputsAlong(request);
  return Object.entries(request.inputs).flatMap(([role, picture]) =>
    // Safe: the schema has roles for its keys.
    typeof picture === "object" && picture !== null && "url" in picture && typeof picture.url === "string"
      ? [{ role: role as InputRole, url: picture.url, isJobs }]
      : [],
  );
}

/**
 * `submit` for a request whose pictures may be addresses: they are fetched and stored as uploads first. A repeated
 * request with the same key and addresses is the same one, whatever they hold by now, and fetches nothing. When the job is
 * refused or was there before, pictures that were new are removed again. Throws what `ingest` and `submit` throw, `url_refused` and
 * `url_unreachable`.
 */
export async function submitWithUrls(
  services: Services,
  input: unknown,
  options: UrlOptions,
): Promise<Submitted> {
  const asked = parseSubmit(input, submitWithUrlsSchema);
  const urls = urlsOf(asked);
  if (urls.length === 0) return submit(services, input, options);
  const key = await keyOfJob(services.db, asked, { ...options, asked });
  const known = await findKnownJob(services.db, key);
  if (known) return answerKnown(known);
  return options.inPlace(() => fetchAndSubmit(services, { asked, urls, input: Object(input) }, options));
}

interface Asked {
  readonly asked: SubmitRequest;
  readonly urls: readonly UrlInput[];
  readonly input: Readonly<Record<string, unknown>>;
}

async function fetchAndSubmit(
  services: Services,
  { asked, urls, input }: Asked,
  options: UrlOptions,
): Promise<Submitted> {
  const created: string[] = [];
  const inputs: Record<string, unknown> = { ...asked.inputs };
  const newJobId = newId();
  try {
    for (const picture of urls) {
      const image = await takeInPicture(services, picture, options);
      if (image.created) created.push(image.id);
      inputs[picture.role] = image.id;
    }
    options.signal.throwIfAborted();
    const submitted = await submit(services, { ...input, inputs }, { ...options, asked, newJobId });
    if (submitted.id !== newJobId) await purgeImages(services, created);
    return submitted;
  } catch (error) {
    // A picture that another job uses by now stays.
    await purgeImages(services, created);
    throw error;
  }
}

/** Fetches a picture and stores it as an upload. Throws what `ingest` throws, `url_refused`, `url_unreachable`, `url_too_large`. */
export async function takeInPicture(
  services: Services,
  { role, url, isJobs = false }: UrlInput,
  { submitter, signal }: Pick<UrlOptions, "submitter" | "signal">,
) {
  try {
    const bytes = await fetchPicture(services, url, signal);
    const kept = role === "mask" ? "mask" : "upload";
    return await ingest(services, {
      ownerId: submitter.userId,
      role: kept,
      bytes,
      name: nameIn(url),
      apart: isJobs ? newId() : undefined,
      signal,
    });
  } catch (error) {
    throw isAppError(error) && /^(?:url|upload)_/.test(error.code) ? inRole(error, role) : error;
  }
}

async function fetchPicture({ env }: Services, url: string, signal: AbortSignal): Promise<Buffer> {
  const { status, body } = await safeFetch(url, {
    signal,
    timeoutMs: fetchMs,
    maxBytes: uploadLimits.sizeBytes,
    headers: { accept: "image/png, image/jpeg, image/webp, image/avif" },
    allowPrivate: env.ALLOWED_PRIVATE_HOSTS,
  });
  if (status === 200) return body;
  throw new AppError("url_unreachable", `The address answered with HTTP ${status}.`);
}

/** The same error, which names the picture. */
function inRole({ code, message, cause }: AppError, role: InputRole): AppError {
  const text = code === "url_too_large" ? `The file has more than ${pictureLimits.uploadMib} MB.` : message;
  return new AppError(code, `"${role}": ${text}`, { details: { role }, cause });
}

/** The last part of the path, for the title of the picture. */
function nameIn(url: string): string {
  const last = new URL(url).pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
