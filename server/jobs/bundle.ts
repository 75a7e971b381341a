import type { Readable } from "node:stream";
import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { requireOriginal, openOriginal } from "../images/index.ts";
import type { Services } from "../services/index.ts";
import { getStory, type JobAddress } from "./get.ts";
import { loadInputImages } from "./load-input-images.ts";
import { packZip } from "./pack-zip.ts";

const extensions: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
};

/** All of a job together as a zip (D12): inputs, mask, results, parameters, story and figures. Throws `not_found`, `input_missing`. */
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
  // Asked before the first byte is sent, so that a missing picture is an answer and not a broken zip.
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
