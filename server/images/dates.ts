import { and, inArray, isNull, ne, sql } from "drizzle-orm";
import { z } from "zod";
import { type Db, schema, type Tx } from "../db/index.ts";
import { AppError, isId, momentOfText } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { firstPhoto } from "./taken.ts";

const { images } = schema;

const mostIds = 500;
const dayMs = 86_400_000;
/** Clocks of cameras may be wrong by decades, but not by more. */
const mostShiftS = (200 * 366 * dayMs) / 1_000;

const ids = z.array(z.uuid()).min(1).max(mostIds);
/** Null takes back what was given by hand. */
export const givenDate = momentOfText.nullable();

/** One day for all, all by so much, or one for each, as undo gives them back. */
export const dateImagesSchema = z.union([
  z.strictObject({ ids, createdAt: givenDate }),
  z.strictObject({ ids, shiftS: z.int().min(-mostShiftS).max(mostShiftS) }),
  z.strictObject({
    dates: z
      .array(z.strictObject({ id: z.uuid(), createdAt: givenDate }))
      .min(1)
      .max(mostIds),
  }),
]);

type DateImagesInput = z.output<typeof dateImagesSchema> & { readonly ownerId: string };

/** A picture with the time that its owner gave it; null where it stands as it was made or taken. */
export interface GivenDate {
  readonly id: string;
  readonly createdAt: string | null;
}

/**
 * Gives own pictures another time, by which lists, days and searches have them; ignores foreign ones. Returns what each had by
 * hand before, which takes it back. Throws `bad_request` for a time before photography or in the future; none is changed then.
 */
export async function dateImages(
  { db }: Pick<Services, "db">,
  input: DateImagesInput,
): Promise<{ before: GivenDate[] }> {
  const wanted = "dates" in input ? input.dates.map(({ id }) => id) : input.ids;
  const givenBy = new Map("dates" in input ? input.dates.map(({ id, createdAt }) => [id, createdAt]) : []);
  return db.transaction(async (tx) => {
    const rows = await lockDated(tx, input.ownerId, wanted);
    const dates = rows.map(({ id, createdAt }): GivenDate => {
      if ("shiftS" in input)
        return { id, createdAt: new Date(createdAt.getTime() + input.shiftS * 1_000).toISOString() };
      return { id, createdAt: "dates" in input ? (givenBy.get(id) ?? null) : input.createdAt };
    });
    await giveDates(tx, dates);
    const before = rows.map(({ id, createdAt, undatedAt }) => ({
      id,
      createdAt: undatedAt === null ? null : createdAt.toISOString(),
    }));
    return { before };
  });
}

/** In the order of the ids, so that two changes of the same pictures do not wait for each other for ever. */
function lockDated(tx: Tx, ownerId: string, wanted: readonly string[]) {
  const { id, createdAt, undatedAt, deletedAt, role } = images;
  return tx
    .select({ id, createdAt, undatedAt })
    .from(images)
    .where(
      and(
        sql`${images.ownerId} = ${ownerId}`,
        inArray(id, wanted.filter(isId)),
        isNull(deletedAt),
        ne(role, "mask"),
      ),
    )
    .orderBy(id)
    .for("update");
}

/** The caller has seen that they are its user's. Throws `bad_request`. */
export async function giveDates(db: Db | Tx, dates: readonly GivenDate[]): Promise<void> {
  if (dates.length === 0) return;
  for (const { createdAt } of dates) {
    const atMs = createdAt === null ? null : Date.parse(createdAt);
    // A day ahead: somewhere on earth it has begun.
    if (atMs !== null && (atMs < firstPhoto.getTime() || atMs > Date.now() + dayMs))
      throw new AppError("bad_request", "A picture is of a day between 1826 and today.");
  }
  const given = sql`unnest(${sql.param(dates.map(({ id }) => id))}::uuid[], ${sql.param(dates.map(({ createdAt }) => createdAt))}::text[])`;
  await db.execute(sql`
    update ${images} set
      created_at = coalesce(given.at::timestamptz, undated_at, created_at),
      undated_at = case when given.at is not null then coalesce(undated_at, created_at) end,
      added_at = case when given.at is null then nullif(added_at, coalesce(undated_at, '-infinity'))
        else coalesce(added_at, created_at) end
    from ${given} as given (id, at)
    where ${images}.id = given.id and (given.at is not null or undated_at is not null)`);
}
