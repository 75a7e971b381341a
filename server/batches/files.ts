import type { Readable } from "node:stream";
import { jsonEntry, packZip, pictureEntry, type ZipEntry } from "../jobs/index.ts";
import { normalized } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type BatchAddress, type BatchPlace, type BatchWithJobs, getBatch } from "./read.ts";

/** The results of a batch in its order, and `batch.json` with the settings of each. Throws `not_found`. */
export async function openBatchZip(services: Services, address: BatchAddress): Promise<Readable> {
  const batch = await getBatch(services, address);
  const digits = String(batch.size).length;
  const pictures = batch.jobs.flatMap((place) =>
    (place.job?.outputs ?? []).map(({ imageId }, number) => ({ imageId, number, place })),
  );
  const files = new Map<string, string>();
  const entries: ZipEntry[] = [];
  for (const { imageId, number, place } of pictures) {
    const nth = number === 0 ? "" : `-${number + 1}`;
    const base = `${String(place.position + 1).padStart(digits, "0")}${nth}${labelOf(place)}`;
    const own = { ownerId: address.ownerId, id: imageId };
    const entry = await pictureEntry(services, own, { nameOf: (extension) => `${base}.${extension}` });
    files.set(imageId, entry.name);
    entries.push(entry);
  }
  return packZip([jsonEntry("batch.json", describe(batch, files)), ...entries]);
}

const maxLabel = 60;

/** The values of the axes in a file name; ids of pictures say nothing there. */
export function labelOf({ values }: Pick<BatchPlace, "values">): string {
  const parts = Object.entries(values)
    .filter(([param]) => !/(?:^|\.)inputs\./.test(param))
    .map(([param, value]) => `${param}-${String(value)}`);
  // Cut twice, as composing makes it shorter. Marks are parts of letters in many scripts.
  const label = normalized(parts.join("_").slice(0, 4 * maxLabel), "NFC").replaceAll(
    /[^\p{L}\p{M}\p{N}._-]+/gu,
    "-",
  );
  return label === "" ? "" : `_${Array.from(label).slice(0, maxLabel).join("")}`;
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
