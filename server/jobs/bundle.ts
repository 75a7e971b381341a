import type { Readable } from "node:stream";
import { eq } from "drizzle-orm";
import { ZipFile } from "yazl";
import { schema } from "../db/index.ts";
import { openOriginal } from "../images/index.ts";
import type { Services } from "../services/index.ts";
import { getStory, type JobAddress } from "./get.ts";
import { loadInputImages } from "./load-input-images.ts";

const extensions: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
};

/** All of a job together as a zip (D12): inputs, mask, results, parameters, story and figures. Throws `not_found`. */
export async function openBundle(services: Services, address: JobAddress): Promise<Readable> {
  const story = await getStory(services, address);
  const [inputs, outputs] = await Promise.all([
    loadInputImages(services, story.id),
    loadOutputs(services, story.id),
  ]);
  const zip = new ZipFile();
  const add = async (name: string, image: { storageKey: string; mime: string }) => {
    const stream = await openOriginal(services, image);
    // Pictures are compressed already.
    zip.addReadStream(stream, `${name}.${extensions[image.mime] ?? "bin"}`, { compress: false });
  };
  zip.addBuffer(Buffer.from(JSON.stringify(story, null, 2)), "job.json");
  for (const [role, image] of inputs) await add(`inputs/${role}`, image);
  for (const [position, image] of outputs.entries()) await add(`outputs/${position + 1}`, image);
  zip.end();
  // Safe: yazl's stream is a PassThrough.
  return zip.outputStream as Readable;
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
