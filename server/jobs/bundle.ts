import type { Readable } from "node:stream";
import { eq } from "drizzle-orm";
import { ZipFile } from "yazl";
import { schema } from "../db/index.ts";
import { openOriginal, requireOriginal } from "../images/index.ts";
import type { Services } from "../services.ts";
import { loadInputImages } from "./pictures.ts";
import { getStory, type JobAddress } from "./read.ts";

const extensions: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
};

/** A job as a zip: its pictures, and `job.json` with params and story. Throws `not_found`, `input_missing`. */
export async function openBundle(services: Services, address: JobAddress): Promise<Readable> {
  const story = await getStory(services, address);
  const [inputs, outputs] = await Promise.all([
    loadInputImages(services, story.id),
    loadOutputs(services, story.id),
  ]);
  const pictures = [
    ...[...inputs].map(([role, image]) => ({ name: `inputs/${role}`, image })),
    ...outputs.map((image, position) => ({ name: `outputs/${position + 1}`, image })),
  ];
  // Checked before the first byte is sent, so that a missing picture gives an error and not a broken zip.
  for (const { image } of pictures) await requireOriginal(services, image);
  const entries = pictures.map(({ name, image }) => ({
    name: `${name}.${extensions[image.mime] ?? "bin"}`,
    open: () => openOriginal(services, image),
  }));
  return packZip({ name: "job.json", bytes: Buffer.from(JSON.stringify(story, null, 2)) }, entries);
}

async function loadOutputs({ db }: Services, jobId: string) {
  const { jobOutputs, images } = schema;
  const rows = await db
    .select({ image: images })
    .from(jobOutputs)
    .innerJoin(images, eq(images.id, jobOutputs.imageId))
    .where(eq(jobOutputs.jobId, jobId))
    .orderBy(jobOutputs.position);
  return rows.map((row) => row.image);
}

export interface ZipEntry {
  /** Path inside the zip. */
  readonly name: string;
  /** Called when the entry is next, so that one source is open at a time. */
  open(): Promise<Readable>;
}

/**
 * A zip of one text and of sources that are already compressed. A failing source destroys the zip with its error;
 * closing the zip early closes the open source.
 */
export function packZip(text: { name: string; bytes: Buffer }, entries: readonly ZipEntry[]): Readable {
  const zip = new ZipFile();
  // Safe: yazl's stream is a PassThrough.
  const output = zip.outputStream as Readable;
  const fail = (error: Error) => output.destroy(error);
  // Without a listener an error before the first read would end the process.
  output.on("error", () => undefined);
  zip.once("error", fail);
  zip.addBuffer(text.bytes, text.name);
  for (const entry of entries) {
    zip.addReadStreamLazy(entry.name, { compress: false }, (take) => {
      entry.open().then((source) => {
        source.on("error", fail);
        const stop = () => source.destroy();
        output.once("close", stop);
        source.once("close", () => output.off("close", stop));
        if (output.destroyed) source.destroy();
        else take(null, source);
      }, fail);
    });
  }
  zip.end();
  return output;
}
