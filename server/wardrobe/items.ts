import { and, desc, eq, inArray, isNull, or } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { z } from "zod";
import { recordAct } from "../audit/index.ts";
import { type Db, lockTopic, schema, type Tx } from "../db/index.ts";
import { AppError, type ErrorCode, isStorable, newId } from "../platform/index.ts";
import { consentFor, consentIsStored, forgetConsent, isConsentStored } from "../safety.ts";
import type { Services } from "../services.ts";
import { colourOf } from "./colour.ts";
import { garmentCategories, type GarmentCategory, type GarmentColour } from "./names.ts";

const { wardrobeItems, images, consents, jobs } = schema;

const wardrobeLimits = { items: 1_000, tags: 20, characters: 80 } as const;

/** A garment or a person of a user's wardrobe. */
export interface WardrobeItem {
  readonly id: string;
  /** The picture to use: cut out where that was wished and is done. */
  readonly imageId: string;
  readonly thumbhash: string;
  readonly what: "garment" | "person";
  /** Null for persons, and for garments of which nobody said it. */
  readonly category: GarmentCategory | null;
  readonly name: string;
  readonly tags: readonly string[];
  /** Found by itself; null for persons. */
  readonly colour: GarmentColour | null;
  /** Of persons: somebody stated that the photo shows an adult who agrees. */
  readonly hasConsent: boolean;
  /** The garment is being cut out of its photo. */
  readonly isBeingCutOut: boolean;
  /** The job that should have cut it out and did not, so that the photo is shown as it is; `code` is null for a cancelled one. */
  readonly cutOutFailure: { readonly jobId: string; readonly code: ErrorCode | null } | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

const maxUrlLength = 2_048;

export const importPictureSchema = z.strictObject({
  url: z.string().trim().min(1).max(maxUrlLength),
  what: z.enum(["garment", "person"]),
});

const text = z.string().trim().max(wardrobeLimits.characters).refine(isStorable, "must be plain text");

const facts = {
  category: z.enum(garmentCategories).nullable(),
  name: text,
  tags: z.array(text.min(1)).max(wardrobeLimits.tags),
};

const changeableFacts = z.strictObject(facts).partial().shape;

export const addItemSchema = z.strictObject({
  ...changeableFacts,
  imageId: z.uuid(),
  what: z.enum(["garment", "person"]),
  /** The job that cuts it out of its photo. */
  cutOutJobId: z.uuid().nullable().optional(),
});

export const changeItemSchema = z.strictObject({ ...changeableFacts, id: z.uuid() });

interface Owned {
  readonly ownerId: string;
}

type WithDb = Pick<Services, "db">;

const cutOut = alias(images, "cut_out");
const cutOutJob = { id: jobs.id, status: jobs.status, errorCode: jobs.errorCode };

function selectItems(db: WithDb["db"]) {
  const isStated = consentIsStored(images);
  return db
    .select({ item: wardrobeItems, image: images, cut: cutOut, job: cutOutJob, isStated })
    .from(wardrobeItems)
    .innerJoin(images, and(eq(images.id, wardrobeItems.imageId), isNull(images.deletedAt)))
    .leftJoin(jobs, eq(jobs.id, wardrobeItems.cutOutJobId))
    .leftJoin(cutOut, and(eq(cutOut.jobId, wardrobeItems.cutOutJobId), isNull(cutOut.deletedAt)));
}

type Row = Awaited<ReturnType<typeof selectItems>>[number];

const isKept = (ownerId: string) => and(eq(wardrobeItems.ownerId, ownerId), isNull(wardrobeItems.removedAt));

/** How the cut-out of a garment goes, by its job alone. */
function readCutOut(job: Row["job"]): Pick<WardrobeItem, "isBeingCutOut" | "cutOutFailure"> {
  const isBroken = job?.status === "failed" || job?.status === "cancelled";
  return {
    isBeingCutOut: job !== null && !isBroken && job.status !== "completed",
    cutOutFailure: isBroken ? { jobId: job.id, code: job.errorCode } : null,
  };
}

function toItem({ item, image, cut, job, isStated }: Row): WardrobeItem {
  const { id, thumbhash } = cut ?? image;
  return {
    id: item.id,
    imageId: id,
    thumbhash,
    what: item.what,
    category: item.category,
    name: item.name,
    tags: item.tags,
    colour: item.what === "garment" ? colourOf(thumbhash) : null,
    hasConsent: isStated,
    ...readCutOut(job),
    createdAt: item.createdAt.toISOString(),
  };
}

/** All items of a user, the newest first; those whose picture was deleted come back with it. */
export async function listItems({ db }: WithDb, { ownerId }: Owned): Promise<readonly WardrobeItem[]> {
  const rows = await selectItems(db)
    .where(isKept(ownerId))
    .orderBy(desc(wardrobeItems.createdAt), desc(wardrobeItems.id))
    .limit(wardrobeLimits.items);
  return rows.map(toItem);
}

async function getItem({ db }: WithDb, ownerId: string, id: string): Promise<WardrobeItem> {
  const [row] = await selectItems(db).where(and(isKept(ownerId), eq(wardrobeItems.id, id)));
  if (!row) throw new AppError("not_found");
  return toItem(row);
}

type AddInput = z.output<typeof addItemSchema> & Owned;

/**
 * Puts a picture of the user into the wardrobe; one that is there already, or was taken out, keeps what is not given. Throws
 * `not_found` for a picture or a job that is not the user's, and `bad_request` for a mask and a full wardrobe.
 */
export async function addItem(services: WithDb, input: AddInput): Promise<WardrobeItem> {
  const { ownerId, imageId, cutOutJobId, ...said } = input;
  const { db } = services;
  const [image] = await db
    .select({ role: images.role })
    .from(images)
    .where(and(eq(images.id, imageId), eq(images.ownerId, ownerId), isNull(images.deletedAt)));
  if (!image) throw new AppError("not_found");
  if (image.role === "mask") throw new AppError("bad_request", "A mask is nothing to wear.");
  if (
    typeof cutOutJobId === "string" &&
    (await db.$count(jobs, and(eq(jobs.id, cutOutJobId), eq(jobs.ownerId, ownerId)))) === 0
  )
    throw new AppError("not_found");
  // A garment that becomes a person is no longer one of a category, and its photo is shown whole.
  const ofPersons = said.what === "person" ? { category: null, cutOutJobId: cutOutJobId ?? null } : {};
  const changes = { ...said, cutOutJobId, ...ofPersons, removedAt: null };
  const [row] = await addingTo(services, ownerId, (tx) =>
    tx
      .insert(wardrobeItems)
      .values({ ...changes, id: newId(), ownerId, imageId, tags: said.tags ?? [] })
      .onConflictDoUpdate({
        target: wardrobeItems.imageId,
        set: changes,
        setWhere: eq(wardrobeItems.ownerId, ownerId),
      })
      .returning({ id: wardrobeItems.id }),
  );
  if (!row) throw new AppError("not_found");
  return getItem(services, ownerId, row.id);
}

/** Runs what puts items into a wardrobe: two at once would both count one too few. Throws `bad_request`, and nothing is stored, above the limit. */
function addingTo<T>({ db }: WithDb, ownerId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    await lockTopic(tx, "wardrobe", ownerId);
    const done = await work(tx);
    if ((await tx.$count(wardrobeItems, isKept(ownerId))) > wardrobeLimits.items)
      throw new AppError("bad_request", `A wardrobe holds at most ${wardrobeLimits.items} pictures.`);
    return done;
  });
}

/** Changes what was said of an item. Throws `not_found`. */
export async function changeItem(
  services: WithDb,
  { ownerId, id, ...changes }: z.output<typeof changeItemSchema> & Owned,
): Promise<WardrobeItem> {
  if (Object.values(changes).some((value) => value !== undefined))
    await services.db
      .update(wardrobeItems)
      .set(changes)
      .where(and(eq(wardrobeItems.ownerId, ownerId), eq(wardrobeItems.id, id)));
  return getItem(services, ownerId, id);
}

interface OfImages extends Owned {
  readonly imageIds: readonly string[];
}

/** How many items show one of these pictures, as it is or as their cut-out. */
export function countUses({ db }: WithDb, { ownerId, imageIds }: OfImages): Promise<number> {
  const ids = [...imageIds];
  const cutOutsBy = db.select({ id: images.jobId }).from(images).where(inArray(images.id, ids));
  const shows = or(inArray(wardrobeItems.imageId, ids), inArray(wardrobeItems.cutOutJobId, cutOutsBy));
  return db.$count(wardrobeItems, and(isKept(ownerId), shows));
}

interface OwnItems extends Owned {
  readonly ids: readonly string[];
}

async function setRemoved(
  { db }: { readonly db: Db | Tx },
  { ownerId, ids }: OwnItems,
  removedAt: Date | null,
) {
  const set = await db
    .update(wardrobeItems)
    .set({ removedAt })
    .where(and(eq(wardrobeItems.ownerId, ownerId), inArray(wardrobeItems.id, [...ids])))
    .returning({ id: wardrobeItems.id });
  return set.map(({ id }) => id);
}

/** Takes items out of the wardrobe; their pictures stay. Returns those that there are. */
export function removeItems(services: WithDb, input: OwnItems): Promise<readonly string[]> {
  return setRemoved(services, input, new Date());
}

/** Takes `removeItems` back. Returns those that there are. Throws `bad_request` when there would be too many. */
export function restoreItems(services: WithDb, input: OwnItems): Promise<readonly string[]> {
  return addingTo(services, input.ownerId, (tx) => setRemoved({ db: tx }, input, null));
}

interface OfImage extends Owned {
  readonly imageId: string;
}

const own = ({ ownerId, imageId }: OfImage) =>
  and(eq(images.id, imageId), eq(images.ownerId, ownerId), isNull(images.deletedAt));

async function readPhoto({ db }: WithDb, input: OfImage) {
  const [image] = await db.select({ storedSha256: images.storedSha256 }).from(images).where(own(input));
  if (!image) throw new AppError("not_found");
  return { ownerId: input.ownerId, storedSha256: image.storedSha256 };
}

/** Whether the statement was made for the photo. Throws `not_found`. */
export async function hasConsent(services: WithDb, input: OfImage): Promise<boolean> {
  return isConsentStored(services.db, await readPhoto(services, input));
}

/** Takes the statement about the bytes of a photo back: the next order asks for it again. Throws `not_found`. */
export async function withdrawConsent(services: WithDb, input: OfImage): Promise<void> {
  const photo = await readPhoto(services, input);
  await services.db.transaction(async (tx) => {
    await forgetConsent(tx, photo);
    await recordAct(tx, { kind: "consent.withdrawn", by: input.ownerId, object: input.imageId });
  });
}

/** Stores the statement that a photo shows an adult who agrees, once for its bytes. Throws `not_found`. */
export async function stateConsent(services: WithDb, input: OfImage): Promise<void> {
  const { ownerId, storedSha256 } = await readPhoto(services, input);
  await services.db.transaction(async (tx) => {
    const stated = await tx
      .insert(consents)
      .values({ ...consentFor(storedSha256), ownerId })
      .onConflictDoNothing()
      .returning({ id: consents.id });
    if (stated.length > 0)
      await recordAct(tx, { kind: "consent.stated", by: ownerId, object: input.imageId });
  });
}
