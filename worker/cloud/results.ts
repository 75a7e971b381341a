import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import sharp from "sharp";
import type { InputRole } from "@atelier/server/engines";
import { admitResults } from "@atelier/server/gate";
import { discardOutput, type StoredOutput, storeOutput } from "@atelier/server/images";
import { completeFromProvider, failFromProvider, type Job } from "@atelier/server/jobs";
import { persist } from "@atelier/server/leases";
import {
  inSpan,
  isAppError,
  isOwnNetwork,
  pictureLimits,
  resultHosts,
  safeFetch,
} from "@atelier/server/platform";
import {
  type Attempt,
  bytesOfText,
  isPictureStart,
  paidUsd,
  type ProviderAccess,
  ProviderError,
  type ProviderOutput,
} from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { type EngineOutput, pasteWhole } from "../engines/index.ts";
import { otherShapeOf } from "./sizes.ts";

/** Pictures of one run that are kept at most. */
const maxOutputs = 8;
const timeoutMs = 60_000;
const maxResultBytes = pictureLimits.outputMegapixels * 1_000_000;

export interface Finished {
  readonly job: Job;
  readonly attempt: Attempt;
  readonly access: ProviderAccess;
  readonly outputs: readonly ProviderOutput[];
  readonly costUsd: number | null;
  /** The job's input files by role, for what is pasted back. */
  readonly files: Partial<Record<InputRole, string>>;
  readonly workDir: string;
  readonly signal: AbortSignal;
  /** What cannot be fetched now is left out, if there are other results. */
  readonly isLastTry: boolean;
}

/**
 * Fetches the results of a run, checks that they are pictures, stores them and completes the job. False when the job no
 * longer waits for them. Throws `ProviderError` (`transient`: fetch again; `internal`: what came is no picture, or may not
 * be fetched; `gate`: the studio refuses it), `storage_unavailable` and `gate_unavailable`. Several results, of which some
 * are of no use, are stored without those.
 */
export async function finish(services: Services, finished: Finished): Promise<boolean> {
  const { attempt, costUsd, outputs } = finished;
  if (outputs.length === 0) throw new ProviderError("internal", "The run has no picture.");
  const made: EngineOutput[] = [];
  const faults: ProviderError[] = [];
  for (const [at, output] of outputs.slice(0, maxOutputs).entries()) {
    const taken = await take(services, finished, { output, name: `result-${at}` });
    if (taken instanceof ProviderError) faults.push(taken);
    else made.push(taken);
  }
  const again = faults.find(
    (fault) => fault.class === "transient" && (made.length === 0 || !finished.isLastTry),
  );
  if (again) throw again;
  if (made.length === 0) throw faults[0] ?? new ProviderError("internal", "The run has no picture.");
  const admitted = await admit(services, finished.job, made);
  const { id: jobId, traceparent: parent } = finished.job;
  const start = { parent, attributes: { "atelier.job.id": jobId } };
  const stored = await inSpan(services.tracing, "store", start, () => storeAll(services, finished, admitted));
  const shape = otherShapeOf(finished.job, stored);
  const job = await completeFromProvider(services, { attempt, outputs: stored, costUsd, shape });
  if (job) return true;
  await discardOutput(services, ...stored.map(({ storageKey }) => storageKey));
  return false;
}

/** What the studio refuses was made all the same, and is paid for. */
async function admit(services: Services, job: Job, made: readonly EngineOutput[]) {
  try {
    return await admitResults(services, job, made);
  } catch (error) {
    if (!isAppError(error) || error.code !== "result_refused") throw error;
    throw new ProviderError("gate", error.message, { isCharged: true, cause: error });
  }
}

/** Another look would find the same. */
export const endsRun = ({ class: reason }: ProviderError) => reason === "internal" || reason === "gate";

interface Taken {
  readonly output: ProviderOutput;
  readonly name: string;
}

/** One result as a file, or what is wrong with it. */
async function take(
  services: Services,
  finished: Finished,
  { output, name }: Taken,
): Promise<EngineOutput | ProviderError> {
  try {
    const bytes =
      "bytes" in output ? withinLimit(output.bytes) : await download(services, finished, output.url);
    return await toOutput(finished, bytes, name);
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
async function download(services: Services, finished: Finished, url: string): Promise<Uint8Array> {
  const faults: ProviderError[] = [];
  for (const address of addressesOf(url, finished.access)) {
    const taken = await downloadFrom(services, finished, { address, isGuess: address !== url });
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
  { access, signal }: Finished,
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
    if (status === 200 && !isPage(body)) return body;
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
const converted: readonly string[] = ["gif", "tiff", "heif"];

async function toOutput(
  { job, files, workDir }: Finished,
  given: Uint8Array,
  name: string,
): Promise<EngineOutput> {
  // Some servers answer an address with the picture as text.
  const bytes = isPictureStart(given)
    ? given
    : (bytesOfText(Buffer.from(given).toString("latin1").trim()) ?? given);
  const format = await sharp(bytes)
    .metadata()
    .then((read) => read.format)
    .catch(() => "none");
  const file = path.join(workDir, name);
  const mime = kept[format] ?? (converted.includes(format) ? "image/png" : null);
  if (mime === null) throw new ProviderError("internal", "What the provider made is no picture.");
  await writeFile(file, kept[format] ? bytes : await toPng(bytes));
  const [picture, mask] = [files.image ?? files.person, files.mask];
  if (job.kind !== "inpaint" || picture === undefined || mask === undefined) return { path: file, mime };
  const target = path.join(workDir, `${name}-pasted.png`);
  await pasteWhole({ picture, mask, result: file, target });
  return { path: target, mime: "image/png" };
}

async function toPng(bytes: Uint8Array): Promise<Buffer> {
  const limitInputPixels = pictureLimits.outputMegapixels * 1_000_000;
  try {
    return await sharp(bytes, { limitInputPixels }).png().toBuffer();
  } catch (error) {
    throw new ProviderError("internal", "What the provider made is no picture.", { cause: error });
  }
}

async function storeAll(
  services: Services,
  { job, files: inputFiles }: Finished,
  made: readonly EngineOutput[],
): Promise<StoredOutput[]> {
  const stored: StoredOutput[] = [];
  const { id: jobId, ownerId, kind } = job;
  // A key of its own: another process that fetches the same results must not remove these.
  const attempt = randomUUID();
  try {
    for (const [position, { path: file, mime }] of made.entries())
      stored.push(
        await storeOutput(services, {
          ownerId,
          jobId,
          attempt,
          kind,
          position,
          path: file,
          mime,
          inputFiles,
        }),
      );
    return stored;
  } catch (error) {
    await discardOutput(services, ...stored.map(({ storageKey }) => storageKey));
    throw error;
  }
}

/** A result that came, is paid for, and cannot be stored. */
export const unstored = (cause: unknown) =>
  new ProviderError("unstored", "The result could not be stored.", { cause });

const storePauseMs = 2_000;
const storeTries = 15;

/**
 * Stores what a synchronous provider made. It was paid for and cannot be asked for again, so a store, or a result, that is
 * away for a while is waited for; when that does not help the run has failed late, at its price.
 */
export async function takeResult(
  services: Services,
  finished: Omit<Finished, "isLastTry">,
  pauseMs = storePauseMs,
): Promise<"completed" | "failed" | "fenced"> {
  const { attempt, costUsd } = finished;
  for (let left = storeTries; ; left -= 1) {
    try {
      return (await finish(services, { ...finished, isLastTry: left === 0 })) ? "completed" : "fenced";
    } catch (error) {
      const isFinal = error instanceof ProviderError && error.class !== "transient";
      if (isFinal || left === 0) {
        services.log.warn({ err: error }, "the result of a provider could not be taken");
        const failure = error instanceof ProviderError ? error : unstored(error);
        const paid = costUsd ?? paidUsd(services.config, attempt);
        // An end that is not noted would make the sweep take the answer for lost.
        const failed = await persist(() =>
          failFromProvider(services, { attempt, error: failure, costUsd: paid }),
        );
        return failed ? "failed" : "fenced";
      }
    }
    await sleep(pauseMs);
  }
}
