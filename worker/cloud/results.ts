import { writeFile } from "node:fs/promises";
import path from "node:path";
import { randomUUID } from "node:crypto";
import sharp from "sharp";
import type { InputRole } from "@atelier/server/engines";
import { discardOutput, type StoredOutput, storeOutput } from "@atelier/server/images";
import { completeFromProvider, type Job } from "@atelier/server/jobs";
import { pictureLimits, safeFetch } from "@atelier/server/platform";
import {
  type Attempt,
  type ProviderAccess,
  ProviderError,
  type ProviderOutput,
} from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { type EngineOutput, pasteWhole } from "../engines/index.ts";

/** Pictures of one run that are kept at most. */
const maxOutputs = 8;
const fetchTimeoutMs = 60_000;
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
}

/**
 * Fetches the results of a run, checks that they are pictures, stores them and completes the job. False when the job no
 * longer waits for them. Throws `ProviderError` (`transient`: fetch again; `internal`: what came is no picture) and
 * `storage_unavailable`.
 */
export async function finish(services: Services, finished: Finished): Promise<boolean> {
  const { attempt, costUsd, outputs } = finished;
  if (outputs.length === 0) throw new ProviderError("internal", "The run has no picture.");
  const made: EngineOutput[] = [];
  for (const [at, output] of outputs.slice(0, maxOutputs).entries()) {
    const bytes = "bytes" in output ? output.bytes : await download(services, finished, output.url);
    made.push(await toOutput(finished, bytes, `result-${at}`));
  }
  const stored = await storeAll(services, finished, made);
  const job = await completeFromProvider(services, { attempt, outputs: stored, costUsd });
  if (job) return true;
  for (const { storageKey } of stored) await discardOutput(services, storageKey);
  return false;
}

async function download({ env }: Services, { access, signal }: Finished, url: string): Promise<Uint8Array> {
  try {
    const answer = await safeFetch(url, {
      signal,
      timeoutMs: fetchTimeoutMs,
      maxBytes: maxResultBytes,
      // A server of one's own, or a simulator, has its pictures beside its interface.
      allowPrivate: [new URL(access.baseUrl).hostname, ...env.ALLOWED_PRIVATE_HOSTS],
    });
    if (answer.status === 200 && !isPage(answer.body)) return answer.body;
    throw new ProviderError("transient", `The result answered HTTP ${answer.status} without a picture.`);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    throw new ProviderError("transient", "The result could not be fetched.", { cause: error });
  }
}

/** Begins like HTML or JSON: an answer of a proxy or a store, behind which the picture still may be. */
function isPage(body: Uint8Array): boolean {
  const start = Buffer.from(body.subarray(0, 200)).toString("latin1").trimStart();
  return start.startsWith("<") || start.startsWith("{");
}

async function toOutput(
  { job, files, workDir }: Finished,
  bytes: Uint8Array,
  name: string,
): Promise<EngineOutput> {
  const format = await sharp(bytes)
    .metadata()
    .then((read) => read.format)
    .catch(() => null);
  const mime =
    format === "png" || format === "webp" || format === "jpeg" ? (`image/${format}` as const) : null;
  if (!mime) throw new ProviderError("internal", "What the provider made is no picture.");
  const file = path.join(workDir, name);
  await writeFile(file, bytes);
  const [picture, mask] = [files.image ?? files.person, files.mask];
  if (job.kind !== "inpaint" || picture === undefined || mask === undefined) return { path: file, mime };
  const target = path.join(workDir, `${name}-pasted.png`);
  await pasteWhole({ picture, mask, result: file, target });
  return { path: target, mime: "image/png" };
}

async function storeAll(
  services: Services,
  { job }: Finished,
  made: readonly EngineOutput[],
): Promise<StoredOutput[]> {
  const stored: StoredOutput[] = [];
  const { id: jobId, ownerId, kind } = job;
  // A key of its own: another process that fetches the same results must not remove these.
  const attempt = randomUUID();
  try {
    for (const [position, { path: file, mime }] of made.entries())
      stored.push(await storeOutput(services, { ownerId, jobId, attempt, kind, position, path: file, mime }));
    return stored;
  } catch (error) {
    for (const { storageKey } of stored) await discardOutput(services, storageKey);
    throw error;
  }
}
