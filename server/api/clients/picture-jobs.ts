import { randomInt } from "node:crypto";
import type { Caller } from "../../accounts/index.ts";
import { type AnswerFormat, readAs } from "../../images/index.ts";
import { collect, type JobView, submitWithPictures } from "../../jobs/index.ts";
import { AppError, streamMs } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { requireStillKey } from "./route.ts";

/**
 * How long a client of IOPaint waits for a picture at most, from the start of its request, and less in a function of less
 * time; after it the job is cancelled.
 */
const maxWaitMs = 280_000;

/** A job whose client waits for the picture on its open connection. */
export interface PictureJob {
  readonly kind: "inpaint" | "remove_background" | "upscale" | "restore_faces" | "segment";
  readonly params: Readonly<Record<string, unknown>>;
  readonly pictures: Parameters<typeof submitWithPictures>[1]["pictures"];
}

interface Waiting {
  readonly services: Services;
  readonly caller: Caller;
  readonly request: Request;
  readonly startedAtMs: number;
}

/** Submits a job with its pictures; `collectPicture` must follow. */
export async function submitPictureJob(
  { services, caller, request }: Waiting,
  { kind, params, pictures }: PictureJob,
): Promise<string> {
  const { id } = await submitWithPictures(services, {
    request: { kind, params, retention: "ephemeral" },
    pictures,
    submitter: caller,
    signal: request.signal,
  });
  return id;
}

export interface CollectedPicture {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly job: JobView;
}

/** Waits for the picture of a job; job and pictures are removed with it, and when the client leaves. */
export function collectPicture(
  { services, caller, request, startedAtMs }: Waiting,
  id: string,
  format: AnswerFormat,
): Promise<CollectedPicture> {
  const ownerId = caller.userId;
  const endsAtMs = startedAtMs + Math.min(maxWaitMs, streamMs(services.env));
  return collect(
    services,
    { ownerId, id },
    {
      signal: request.signal,
      isAllowed: () => requireStillKey({ services, request }),
      // Body, decoding and submit have used some of the time.
      waitMs: Math.max(0, Math.ceil(endsAtMs - performance.now())),
      async read(job) {
        const [output] = job.outputs;
        if (!output) throw new AppError("internal", "The job has no picture.");
        return { job, bytes: await readAs(services, { ownerId, id: output.imageId }, format) };
      },
    },
  );
}

/** An answer of image bytes; `X-Seed` is the seed of the run, or the one that the client asked for. */
export function pictureResponse(
  { bytes, job }: CollectedPicture,
  format: AnswerFormat,
  seed?: number,
): Response {
  const used = job.params["seed"] ?? seed;
  return new Response(bytes, {
    headers: {
      "content-type": `image/${format}`,
      "cache-control": "no-store",
      ...(typeof used === "number" ? { "x-seed": String(used) } : {}),
    },
  });
}

const maxSeed = 2 ** 31 - 1;

/** A negative seed asks for a random one. */
export function seedOf(asked: number): number {
  return asked >= 0 ? asked : randomInt(maxSeed);
}

/** Settings of a repainting with words, as IOPaint and Lama Cleaner send them; without words they mean nothing here. */
export interface PaintSettings {
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly steps: number | undefined;
  readonly guidance: number | undefined;
  readonly strength: number | undefined;
  readonly seed: number;
}

/** Params of an inpaint job. What the client did not send, or sent as text without meaning, is left to the workflow. */
export function paintParams({ prompt, negativePrompt, ...settings }: PaintSettings): Record<string, unknown> {
  if (prompt.trim() === "") return {};
  const texts = negativePrompt.trim() === "" ? { prompt } : { prompt, negativePrompt };
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return { ...texts, ...Object.fromEntries(given) };
}

/** Which job a plugin of IOPaint that makes pictures is; null for one that the studio does not have. */
export function pluginJob(name: string, scale: number): Pick<PictureJob, "kind" | "params"> | null {
  switch (name) {
    case "RemoveBG":
      return { kind: "remove_background", params: {} };
    case "RealESRGAN":
      return { kind: "upscale", params: { scale } };
    case "GFPGAN":
    case "RestoreFormer":
      return { kind: "restore_faces", params: {} };
    default:
      return null;
  }
}

export function unknownPlugin(): AppError {
  return new AppError("no_engine", "Plugin not found");
}
