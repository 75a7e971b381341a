import { inArray, sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { Services } from "../services.ts";
import { readModelNote } from "./model-notes.ts";
import { recipientOf, stageModel, takesPictures } from "./models.ts";

const { images } = schema;

/** Pictures of one question. */
export const mostGiven = 4;

/** The name of pictures among the parts of a request that a model refused. */
export const picturesFeature = "pictures";

/** A picture that was given with a question. */
export interface GivenPicture {
  readonly id: string;
  /** In the trash, or deleted for good. */
  readonly state: "there" | "trashed" | "gone";
  /** Null when it is gone. */
  readonly thumbhash: string | null;
}

/** Who would see the pictures of a question now; null when its model takes none, or there is no model. */
export async function pictureRecipient(
  services: Pick<Services, "db" | "env" | "config">,
): Promise<string | null> {
  const model = stageModel(services, "responder");
  if (!model || !takesPictures(services, model.id)) return null;
  const { refused } = await readModelNote(services, model.id);
  return refused.includes(picturesFeature) ? null : recipientOf(services, model.id);
}

interface Given {
  readonly ownerId: string;
  readonly imageIds: readonly string[];
}

/** What became of the pictures of messages. A picture of another user counts as gone. */
export async function readGiven(
  { db }: { readonly db: Db },
  all: readonly Given[],
): Promise<(given: Given) => GivenPicture[]> {
  const ids = [...new Set(all.flatMap(({ imageIds }) => imageIds))];
  const { id, ownerId, thumbhash } = images;
  const isGone = sql<boolean>`coalesce(${images.deletedAt} <= to_timestamp(0), false)`;
  const isTrashed = sql<boolean>`${images.deletedAt} is not null`;
  const rows =
    ids.length === 0
      ? []
      : await db.select({ id, ownerId, thumbhash, isGone, isTrashed }).from(images).where(inArray(id, ids));
  const known = new Map(rows.map((row) => [row.id, row]));
  return (given) =>
    given.imageIds.map((imageId) => {
      const row = known.get(imageId);
      if (!row || row.ownerId !== given.ownerId || row.isGone)
        return { id: imageId, state: "gone", thumbhash: null };
      return { id: imageId, state: row.isTrashed ? "trashed" : "there", thumbhash: row.thumbhash };
    });
}
