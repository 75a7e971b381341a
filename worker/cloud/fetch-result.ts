import { writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import type { InputRole } from "@atelier/server/engines";
import { isDatabaseAway } from "@atelier/server/db";
import { isDamaged } from "@atelier/server/gate";
import { withoutBombs } from "@atelier/server/images";
import type { Job } from "@atelier/server/jobs";
import {
  isAppError,
  isOwnLack,
  isOutOfSpace,
  isOwnNetwork,
  pictureLimits,
  resultHosts,
  ruleOf,
  safeFetch,
} from "@atelier/server/platform";
import {
  bytesOfText,
  isPictureStart,
  type ProviderAccess,
  ProviderError,
  type ProviderOutput,
} from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { type EngineOutput, pasteWhole } from "../engines/index.ts";

const timeoutMs = 60_000;
const maxResultBytes = pictureLimits.outputMegapixels * 1_000_000;

/** What fetching the results of a run needs. */
export interface Fetching {
  readonly job: Job;
  readonly access: ProviderAccess;
  /** The job's input files by role, for what is pasted back. */
  readonly files: Partial<Record<InputRole, string>>;
  readonly workDir: string;
  readonly signal: AbortSignal;
}

const ownOutages = /^((storage|database|gate)_unavailable|storage_full)$/;

/** The studio's own part is away; a result waits for it. */
export const isOwnOutage = (error: unknown) =>
  isDatabaseAway(error) || isOutOfSpace(error) || (isAppError(error) && ownOutages.test(error.code));

/**
 * Another try would find the same: the result is of no use, or what belongs to it is gone. Not what was ended from outside,
 * such as a child process for want of memory.
 */
export function endsRun(error: unknown): boolean {
  if (error instanceof ProviderError) return error.class !== "transient";
  if (!isAppError(error) || isOwnOutage(error)) return false;
  return ruleOf(error.code).strategy !== "retry" && !error.details?.["signal"];
}

/** Of a result that came, is paid for, and cannot be taken. */
export function faultOf(cause: unknown): ProviderError {
  if (cause instanceof ProviderError) return cause;
  return new ProviderError("unstored", "The result could not be stored.", { cause });
}

interface Taken {
  readonly output: ProviderOutput;
  readonly name: string;
}

/** One result as a file, or what is wrong with it: `transient` when it may come later, else `internal` or `unstored`. */
export async function fetchResult(
  services: Services,
  fetching: Fetching,
  { output, name }: Taken,
): Promise<EngineOutput | ProviderError> {
  try {
    const bytes =
      "bytes" in output ? withinLimit(output.bytes) : await download(services, fetching, output.url);
    return await toOutput(fetching, bytes, name);
  } catch (error) {
    if (error instanceof ProviderError) return error;
    throw error;
  }
}

function withinLimit(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= maxResultBytes) return bytes;
  throw new ProviderError("internal", `The result has more than ${maxResultBytes} bytes.`);
}

/** Answers after which the same address is never fetched again. */
const final: readonly string[] = ["url_refused", "url_too_large"];

/** The picture from the first of its addresses that gives it. Throws `transient` when one of them may give it later. */
async function download(services: Services, fetching: Fetching, url: string): Promise<Uint8Array> {
  const faults: ProviderError[] = [];
  for (const address of addressesOf(url, fetching.access)) {
    const taken = await downloadFrom(services, fetching, { address, isGuess: address !== url });
    if (!(taken instanceof ProviderError)) return taken;
    faults.push(taken);
  }
  const [fault] = [...faults.filter(({ class: reason }) => reason === "transient"), ...faults];
  throw fault ?? new ProviderError("internal", "The run has no picture.");
}

/**
 * A server of one's own may name itself as only it can reach itself, behind a proxy or in a container: then the picture is
 * looked for at the same path of the address where it was asked, too.
 */
function addressesOf(url: string, { name, baseUrl }: ProviderAccess): string[] {
  const [target, base] = [new URL(url), new URL(baseUrl)];
  const isSelf = target.hostname === base.hostname || isOwnNetwork(url, []);
  if (name !== "openai" || target.origin === base.origin || !isSelf) return [url];
  return [url, new URL(target.pathname + target.search, base).href];
}

/** Such a server may keep its pictures behind its key, which goes to no other; a signed address has its right in itself. */
function keyFor(url: string, { name, baseUrl, apiKey }: ProviderAccess): { authorization?: string } {
  const target = new URL(url);
  const isOwn = name === "openai" && target.origin === new URL(baseUrl).origin && target.search === "";
  return isOwn && apiKey !== "" ? { authorization: `Bearer ${apiKey}` } : {};
}

/** With these a store may refuse the key itself, where the picture is open to all. */
const keyRefused: readonly number[] = [400, 401, 403];
/** An address that the server did not name is then wrong. */
const notThere: readonly number[] = [404, 410];

async function downloadFrom(
  { env }: Services,
  { access, signal }: Fetching,
  { address, isGuess }: { readonly address: string; readonly isGuess: boolean },
): Promise<Uint8Array | ProviderError> {
  const allowPrivate = resultHosts(access.baseUrl, env.ALLOWED_PRIVATE_HOSTS);
  const limits = { signal, timeoutMs, maxBytes: maxResultBytes, isNameTold: true, allowPrivate };
  const key = keyFor(address, access);
  try {
    let answer = await safeFetch(address, { ...limits, headers: key });
    if (key.authorization !== undefined && keyRefused.includes(answer.status))
      answer = await safeFetch(address, limits);
    const { status, body } = answer;
    if (status === 200 && (isPictureStart(body) || !isPage(body))) return body;
    const reason = isGuess && notThere.includes(status) ? "internal" : "transient";
    return new ProviderError(reason, `The result answered HTTP ${status} without a picture.`);
  } catch (error) {
    const isFinal = isAppError(error) && final.includes(error.code);
    const why = isFinal ? `was not fetched. ${error.message}` : "could not be fetched.";
    return new ProviderError(isFinal ? "internal" : "transient", `The result ${why}`, { cause: error });
  }
}

/** Begins like HTML or JSON: an answer of a proxy or a store, behind which the picture still may be. */
function isPage(body: Uint8Array): boolean {
  const start = Buffer.from(body.subarray(0, 200)).toString("latin1").trimStart();
  return start.startsWith("<") || start.startsWith("{");
}

/** Formats of the gallery; what a provider makes in another one becomes PNG. */
const kept: Readonly<Record<string, EngineOutput["mime"]>> = {
  png: "image/png",
  webp: "image/webp",
  jpeg: "image/jpeg",
};
const converted: readonly string[] = ["gif", "tiff", "heif", "svg"];

async function toOutput(
  { job, files, workDir }: Fetching,
  given: Uint8Array,
  name: string,
): Promise<EngineOutput> {
  // Some servers answer an address with the picture as text.
  const bytes = harmless(
    isPictureStart(given) ? given : (bytesOfText(Buffer.from(given).toString("latin1").trim()) ?? given),
  );
  const format = await sharp(bytes)
    .metadata()
    .then((read) => read.format)
    .catch((error: unknown) => {
      if (isOwnLack(error)) throw error;
      return "none";
    });
  const file = path.join(workDir, name);
  const mime = kept[format] ?? (converted.includes(format) ? "image/png" : null);
  if (mime === null) throw new ProviderError("internal", "What the provider made is no picture.");
  const written = kept[format] ? bytes : await toPng(bytes);
  await writeFile(file, written);
  const [picture, mask] = [files.image ?? files.person, files.mask];
  if (job.kind !== "inpaint" || picture === undefined || mask === undefined) return { path: file, mime };
  const target = path.join(workDir, `${name}-pasted.png`);
  await pasteWhole({ picture, mask, result: file, target }).catch(async (error: unknown) => {
    // What is not the result's fault, such as too little memory, may be over at the next try.
    throw (await isDamaged(written)) ? faultOf(error) : error;
  });
  return { path: target, mime: "image/png" };
}

/** The longer side of a drawing, which has a size of its own at most by name. */
const drawnPx = 2_048;
const usualDensity = 72;
const mostDensity = 100_000;
const drawLimitS = 30;

/** Too little memory may be over at the next try. */
const noPicture = (cause: unknown): unknown =>
  isOwnLack(cause)
    ? cause
    : new ProviderError("internal", "What the provider made is no picture.", { cause });

function harmless(bytes: Uint8Array): Buffer {
  try {
    return withoutBombs(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    throw noPicture(error);
  }
}

async function toPng(bytes: Uint8Array): Promise<Buffer> {
  const limitInputPixels = pictureLimits.outputMegapixels * 1_000_000;
  try {
    const { format, width, height } = await sharp(bytes, { limitInputPixels: false }).metadata();
    if (format !== "svg") return await sharp(bytes, { limitInputPixels }).png().toBuffer();
    const density = Math.min(mostDensity, Math.max(1, (usualDensity * drawnPx) / Math.max(width, height)));
    // Nothing outside of the drawing is read: it has no address to which others could be relative.
    const drawn = sharp(bytes, { limitInputPixels, density }).timeout({ seconds: drawLimitS });
    return await drawn.resize(drawnPx, drawnPx, { fit: "inside", withoutEnlargement: true }).png().toBuffer();
  } catch (error) {
    throw noPicture(error);
  }
}
