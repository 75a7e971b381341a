import { buffer } from "node:stream/consumers";
import type { Readable } from "node:stream";
import sharp, { type OverlayOptions } from "sharp";
import { isAppError } from "../platform/index.ts";
import { openFile } from "../images/index.ts";
import { packZip, type ZipEntry } from "../jobs/index.ts";
import type { Services } from "../services.ts";
import { type BatchAddress, type BatchPlace, type BatchWithJobs, getBatch } from "./read.ts";

const extensions: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
};

/** The results of a batch in its order, and `batch.json` with the settings of each. Throws `not_found`. */
export async function openBatchZip(services: Services, address: BatchAddress): Promise<Readable> {
  const batch = await getBatch(services, address);
  const digits = String(batch.size).length;
  const pictures = batch.jobs.flatMap((place) =>
    (place.job?.outputs ?? []).map(({ imageId }, number) => ({
      imageId,
      place,
      base: `${String(place.position + 1).padStart(digits, "0")}${number === 0 ? "" : `-${number + 1}`}${labelOf(place)}`,
    })),
  );
  const files = new Map<string, string>();
  const entries: ZipEntry[] = [];
  for (const { imageId, base } of pictures) {
    const open = { ownerId: address.ownerId, id: imageId, variant: "original" } as const;
    // Asked before the first byte is sent, so that a missing picture gives an error and not a broken zip.
    const { headers } = await openFile(services, { ...open, isHead: true });
    const name = `${base}.${extensions[headers["content-type"] ?? ""] ?? "bin"}`;
    files.set(imageId, name);
    entries.push({ name, open: async () => bodyOf(await openFile(services, open)) });
  }
  const told = Buffer.from(JSON.stringify(describe(batch, files), null, 2));
  return packZip({ name: "batch.json", bytes: told }, entries);
}

function bodyOf({ body }: { readonly body: Readable | null }): Readable {
  if (!body) throw new Error("a file that was asked for without a condition has no body");
  return body;
}

const maxLabel = 60;

/** The values of the axes in a file name; ids of pictures say nothing there. */
function labelOf({ values }: BatchPlace): string {
  const parts = Object.entries(values)
    .filter(([param]) => !/(?:^|\.)inputs\./.test(param))
    .map(([param, value]) => `${param}-${String(value)}`);
  const label = parts.join("_").replaceAll(/[^\p{L}\p{N}._-]+/gu, "-");
  return label === "" ? "" : `_${label.slice(0, maxLabel)}`;
}

function describe({ jobs, ...batch }: BatchWithJobs, files: ReadonlyMap<string, string>) {
  return {
    ...batch,
    jobs: jobs.map(({ position, values, job }) => ({
      position,
      values,
      ...(job
        ? {
            id: job.id,
            kind: job.kind,
            status: job.status,
            workflow: job.workflow,
            model: job.model,
            params: job.params,
            error: job.error,
            files: job.outputs.map(({ imageId }) => files.get(imageId)),
          }
        : { status: "removed" }),
    })),
  };
}

const gapPx = 8;
/** A longer row would be a strip that no screen shows. */
const maxColumns = 24;
/** The sheet's paper and an empty cell. */
const paper = { r: 250, g: 249, b: 245 };
const well = { r: 236, g: 233, b: 226 };

/**
 * A PNG with the first result of each place in the order of the batch: one row for each value of the axes before the last
 * one, or about as many rows as columns for a list or a long axis. What is not there is an empty cell. Throws `not_found`.
 */
export async function makeContactSheet(
  services: Services,
  { cellPx, ...address }: BatchAddress & { readonly cellPx: number },
): Promise<Buffer> {
  const { jobs, axes } = await getBatch(services, address);
  const own = axes?.at(-1)?.values.length;
  const columns = own !== undefined && own <= maxColumns ? own : Math.ceil(Math.sqrt(jobs.length));
  const rows = Math.ceil(jobs.length / columns);
  const stepPx = cellPx + gapPx;
  const overlays: OverlayOptions[] = [];
  // One after another: a sheet holds small pictures only.
  for (const { position, job } of jobs) {
    const imageId = job?.outputs[0]?.imageId;
    const cell = imageId === undefined ? null : await readCell(services, { ...address, imageId, cellPx });
    overlays.push({
      input: cell ?? { create: { width: cellPx, height: cellPx, channels: 3, background: well } },
      left: gapPx + (position % columns) * stepPx,
      top: gapPx + Math.floor(position / columns) * stepPx,
    });
  }
  const size = { width: gapPx + columns * stepPx, height: gapPx + rows * stepPx };
  return sharp({ create: { ...size, channels: 3, background: paper } })
    .composite(overlays)
    .png()
    .toBuffer();
}

/** A result on a square of paper, whole; null where its file is missing. */
async function readCell(
  services: Services,
  { ownerId, imageId, cellPx }: { ownerId: string; imageId: string; cellPx: number },
): Promise<Buffer | null> {
  try {
    const { body } = await openFile(services, { ownerId, id: imageId, variant: "preview" });
    if (!body) return null;
    return await sharp(await buffer(body))
      .resize(cellPx, cellPx, { fit: "contain", background: paper })
      .flatten({ background: paper })
      .png()
      .toBuffer();
  } catch (error) {
    if (isAppError(error) && (error.code === "not_found" || error.code === "file_missing")) return null;
    throw error;
  }
}
