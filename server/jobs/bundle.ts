import type { Readable } from "node:stream";
import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import {
  baseNameOf,
  type Conversion,
  extensionOf,
  getImages,
  openAs,
  openFile,
  openOriginal,
  requireOriginal,
} from "../images/index.ts";
import { normalized, pictureLimits } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { openWithSettings } from "./carry-settings.ts";
import { loadInputImages } from "./pictures.ts";
import { getStory, type JobAddress } from "./read.ts";
import { jsonEntry, packZip, type ZipEntry } from "./zip.ts";

/**
 * A job as a zip: its pictures, and `job.json` with params and story, which names as `missing` those that are in the trash, and
 * the results gone for good before the last one that is left; of other pictures gone for good nothing is known. Throws `not_found`, `input_missing`.
 */
export async function openBundle(services: Services, address: JobAddress): Promise<Readable> {
  const story = await getStory(services, address);
  const [inputs, outputs] = await Promise.all([
    loadInputImages(services, story.id),
    loadOutputs(services, story.id),
  ]);
  const all = [...[...inputs].map(([role, image]) => ({ name: `inputs/${role}`, image })), ...outputs];
  const pictures = all.flatMap(({ name, image }) => (image?.deletedAt === null ? [{ name, image }] : []));
  // Checked before the first byte is sent, so that a missing picture gives an error and not a broken zip.
  for (const { image } of pictures) await requireOriginal(services, image);
  const entries = pictures.map(({ name, image }) => ({
    name: `${name}.${extensionOf(image.mime)}`,
    open: () => openOriginal(services, image),
  }));
  const missing = all.filter(({ image }) => image?.deletedAt !== null).map(({ name }) => name);
  const told = { ...story, missing };
  return packZip([jsonEntry("job.json", told), ...entries]);
}

/** The results by their numbers; null in the place of one that is gone for good. */
async function loadOutputs({ db }: Services, jobId: string) {
  const { jobOutputs, images } = schema;
  const rows = await db
    .select({ position: jobOutputs.position, image: images })
    .from(jobOutputs)
    .innerJoin(images, eq(images.id, jobOutputs.imageId))
    .where(eq(jobOutputs.jobId, jobId));
  const kept = new Map(rows.map(({ position, image }) => [position, image]));
  return Array.from({ length: Math.max(-1, ...kept.keys()) + 1 }, (_, position) => ({
    name: `outputs/${position + 1}`,
    image: kept.get(position) ?? null,
  }));
}

interface OwnPicture {
  readonly ownerId: string;
  readonly id: string;
}

interface PictureNaming {
  /** The file's name in the zip, by its extension. */
  readonly nameOf: (extension: string) => string;
  readonly settings?: boolean;
  readonly as?: Conversion | null | undefined;
}

/** An own picture as an entry of a zip. Throws `not_found`, `file_missing` before a byte of the zip is sent. */
export async function pictureEntry(
  services: Services,
  own: OwnPicture,
  { nameOf, settings = false, as = null }: PictureNaming,
): Promise<ZipEntry> {
  const file = { ...own, variant: "original" } as const;
  const { headers } = await openFile(services, { ...file, isHead: true });
  const openStored = () => (settings ? openWithSettings(services, own) : openFile(services, file));
  return {
    name: nameOf(extensionOf(as ? `image/${as.format}` : (headers["content-type"] ?? ""))),
    async open() {
      const { body } = await (as ? openAs(services, own, as) : openStored());
      if (!body) throw new Error("a file that was asked for without a condition has no body");
      return body;
    },
  };
}

/** The most pictures of one zip, as many as a batch makes: their ids fit into an address that proxies take. */
export const picturesZipLimit: number = pictureLimits.batchPictures;
const nameLength = 100;

interface PicturesZip {
  readonly ownerId: string;
  readonly ids: readonly string[];
  /** Results carry the settings that they were made from. */
  readonly settings: boolean;
  /** Null: as they are stored. */
  readonly as: Conversion | null;
}

/** Own pictures under their titles, and `pictures.json` with what is known of each. Throws `not_found`, `file_missing`. */
export async function openPicturesZip(services: Services, wanted: PicturesZip): Promise<Readable> {
  const { ownerId, settings, as } = wanted;
  const taken = new Set<string>();
  const entries: ZipEntry[] = [];
  const told: unknown[] = [];
  const ids = [...new Set(wanted.ids)];
  for (const { thumbhash: _, mime: _mime, ...facts } of await getImages(services, { ownerId, ids })) {
    const { id } = facts;
    const nameOf = (extension: string) => freeName(taken, baseNameOf(facts), extension);
    const entry = await pictureEntry(services, { ownerId, id }, { nameOf, settings, as });
    entries.push(entry);
    told.push({ file: entry.name, ...facts });
  }
  return packZip([jsonEntry("pictures.json", told), ...entries]);
}

/** A name that the zip does not have yet, also where the case of letters does not count. */
function freeName(taken: Set<string>, title: string, extension: string): string {
  const base = Array.from(title).slice(0, nameLength).join("").trimEnd();
  for (let n = 1; ; n += 1) {
    const name = `${base}${n === 1 ? "" : ` (${n})`}.${extension}`;
    const key = normalized(name, "NFC").toLowerCase();
    if (taken.has(key)) continue;
    taken.add(key);
    return name;
  }
}
