import { and, eq, inArray, isNull, or, sql } from "drizzle-orm";
import { z } from "zod";
import { latestFirst, schema, toPage, type Tx } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type EditState, editStateSchema, requireStorable } from "./state.ts";

const { edits, editMasks, images } = schema;

/** An edit without its state. Times are ISO 8601, UTC. */
interface EditFacts {
  readonly id: string;
  /** The picture that the edit began with. */
  readonly imageId: string;
  readonly revision: number;
  readonly updatedAt: string;
}

export interface EditView extends EditFacts {
  readonly state: EditState;
}

interface Row {
  readonly id: string;
  readonly imageId: string;
  readonly revision: number;
  readonly updatedAt: Date;
}

const facts = {
  id: edits.id,
  imageId: edits.imageId,
  revision: edits.revision,
  updatedAt: edits.updatedAt,
} as const;

function toFacts({ id, imageId, revision, updatedAt }: Row): EditFacts {
  return { id, imageId, revision, updatedAt: updatedAt.toISOString() };
}

interface EditedInput {
  readonly ownerId: string;
  readonly imageId: string;
}

/** The edit that began with a picture, else the latest that has it as a version; null without one. */
export async function getEdit(
  { db }: Pick<Services, "db">,
  { ownerId, imageId }: EditedInput,
): Promise<EditView | null> {
  const isVersion = sql`${imageId}::uuid = any(${edits.versionIds})`;
  const [found] = await db
    .select({ ...facts, state: edits.state })
    .from(edits)
    .where(and(eq(edits.ownerId, ownerId), or(eq(edits.imageId, imageId), isVersion)))
    .orderBy(sql`${edits.imageId} = ${imageId}::uuid desc`, sql`${edits.updatedAt} desc`)
    .limit(1);
  // Safe cast: only `saveEdit` writes states, which its schema has parsed, and members are only added.
  return found ? { ...toFacts(found), state: found.state as EditState } : null;
}

export const saveEditSchema = z.strictObject({
  imageId: z.uuid(),
  /** The revision that the state was made from; 0 where none is stored. */
  revision: z.int32().min(0),
  /** Names the page that saves. */
  writer: z.string().min(8).max(64),
  state: editStateSchema,
});

type SaveInput = z.output<typeof saveEditSchema> & Pick<EditedInput, "ownerId">;

/**
 * Stores the state of an edit, when the stored revision is the one that it was made from. Throws `conflict` with the stored
 * revision otherwise, 0 where the edit was removed, `not_found` for a picture that is not the owner's, `request_too_large`, and `bad_request` for a state
 * of another picture.
 */
export async function saveEdit({ db }: Pick<Services, "db">, input: SaveInput): Promise<EditFacts> {
  const { ownerId, imageId, state } = input;
  if (state.versions[0]?.imageId !== imageId)
    throw new AppError("bad_request", "The first version must be the picture that the edit began with.");
  requireStorable(state);
  return db.transaction(async (tx) => {
    const saved = await write(tx, input);
    if (saved === undefined) throw await whyNotSaved(tx, input);
    await keepMasks(tx, { editId: saved.id, ownerId, maskIds: state.maskIds });
    return toFacts(saved);
  });
}

/**
 * The condition guards the race of two writers: only one finds the revision that both have read. A writer whose last answer
 * was lost has read one revision less than its own.
 */
async function write(
  tx: Tx,
  { ownerId, imageId, revision, writer, state }: SaveInput,
): Promise<Row | undefined> {
  const own = and(eq(images.id, imageId), eq(images.ownerId, ownerId), isNull(images.deletedAt));
  const [image] = await tx.select({ id: images.id }).from(images).where(own);
  if (!image) throw new AppError("not_found");
  const versionIds = state.versions.map((version) => version.imageId);
  const isRead = sql`${edits.ownerId} = ${ownerId} and (${edits.revision} = ${revision}
    or (${edits.revision} = ${revision + 1} and ${edits.writer} = ${writer}))`;
  const set = { versionIds, state, writer, revision: sql`${edits.revision} + 1`, updatedAt: sql`now()` };
  // A removed edit does not come back by what a page still has of it.
  const saving =
    revision > 0
      ? tx
          .update(edits)
          .set(set)
          .where(and(eq(edits.imageId, imageId), isRead))
          .returning(facts)
      : tx
          .insert(edits)
          .values({ id: newId(), ownerId, imageId, versionIds, state, writer })
          .onConflictDoUpdate({ target: edits.imageId, set, setWhere: isRead })
          .returning(facts);
  const [saved] = await saving;
  return saved;
}

async function whyNotSaved(tx: Tx, { imageId }: EditedInput): Promise<AppError> {
  const [stored] = await tx.select(facts).from(edits).where(eq(edits.imageId, imageId));
  if (!stored) return new AppError("conflict", "This edit was removed.", { details: { revision: 0 } });
  const { revision, updatedAt } = toFacts(stored);
  return new AppError("conflict", "This edit was changed in another window.", {
    details: { revision, updatedAt },
  });
}

interface MasksInput {
  readonly editId: string;
  readonly ownerId: string;
  readonly maskIds: readonly string[];
}

async function keepMasks(tx: Tx, { editId, ownerId, maskIds }: MasksInput): Promise<void> {
  const wanted = [...maskIds];
  await tx
    .delete(editMasks)
    .where(
      and(eq(editMasks.editId, editId), sql`not ${editMasks.imageId} = any(${sql.param(wanted)}::uuid[])`),
    );
  if (wanted.length === 0) return;
  const isOwnMask = and(inArray(images.id, wanted), eq(images.ownerId, ownerId), eq(images.role, "mask"));
  await tx.execute(sql`
    insert into ${editMasks} (edit_id, image_id) select ${editId}::uuid, ${images.id} from ${images} where ${isOwnMask}
    order by ${images.id} for key share of images on conflict do nothing`);
}

export const listEditsSchema = z.strictObject({
  cursor: z.string().max(100).meta({ format: "cursor" }).optional(),
  limit: z.number().int().min(1).max(100).default(50),
});

type ListInput = z.output<typeof listEditsSchema> & Pick<EditedInput, "ownerId">;

interface EditPage {
  readonly items: readonly (EditFacts & { readonly versions: number })[];
  readonly nextCursor: string | null;
}

const pages = latestFirst(edits.updatedAt, edits.id);

/** An owner's edits, the one saved last first. Throws `bad_request` for a wrong cursor. */
export async function listEdits({ db }: Pick<Services, "db">, input: ListInput): Promise<EditPage> {
  const { ownerId, cursor, limit } = input;
  const rows = await db
    .select({ ...facts, cursor: pages.cursor, versions: sql<number>`cardinality(${edits.versionIds})` })
    .from(edits)
    .where(and(eq(edits.ownerId, ownerId), cursor === undefined ? undefined : pages.isBehind(cursor)))
    .orderBy(...pages.order)
    .limit(limit + 1);
  const { items: shown, nextCursor } = toPage(rows, limit, "cursor");
  return { items: shown.map((row) => ({ ...toFacts(row), versions: row.versions })), nextCursor };
}

/** Forgets an edit; its pictures stay. Throws `not_found`. */
export async function removeEdit(
  { db }: Pick<Services, "db">,
  { ownerId, id }: { readonly ownerId: string; readonly id: string },
): Promise<void> {
  const removed = await db
    .delete(edits)
    .where(and(eq(edits.id, id), eq(edits.ownerId, ownerId)))
    .returning({ id: edits.id });
  if (removed.length === 0) throw new AppError("not_found");
}
