import { randomBytes } from "node:crypto";
import { and, eq, isNull, sql, type SQL } from "drizzle-orm";
import { z } from "zod";
import { hashPassword, passwordSchema } from "../accounts/plain.ts";
import { recordAct } from "../audit/index.ts";
import { isNotTurnedOn } from "../boards/index.ts";
import { ago, lockTopic, schema, type Tx } from "../db/index.ts";
import { AppError, hashOfToken, isId, lineOfText, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { batches, boards, images, linkImages, links } = schema;

/** Of an owner, open or ended. */
const maxLinks = 200;
const maxPictures = 100;
/** Of a board, those that were put there last. */
const maxOfBoard = 500;
const tokenBytes = 24;
/** An ended link stays this long in its owner's list, where it can be opened again. */
const endedDays = 30;

const settings = {
  title: lineOfText.trim().max(120),
  /** From now; null: until it is revoked. */
  endsInDays: z.number().int().min(1).max(3_650).nullable(),
  /** Null: the address is enough. */
  password: passwordSchema.nullable(),
  mayDownload: z.boolean(),
};

/** What a link shows; one of them. */
const sources = ["imageIds", "batchId", "boardId"] as const;

export const createLinkSchema = z
  .strictObject({
    imageIds: z.array(z.uuid()).min(1).max(maxPictures).optional(),
    batchId: z.uuid().optional(),
    boardId: z.uuid().optional(),
    title: settings.title.default(""),
    endsInDays: settings.endsInDays.default(7),
    password: settings.password.default(null),
    mayDownload: settings.mayDownload.default(false),
  })
  .refine((input) => sources.filter((source) => input[source] !== undefined).length === 1, {
    message: "needs one of imageIds, batchId and boardId",
  })
  .meta({ oneOf: sources.map((source) => ({ required: [source] })) });

/** What is not named stays as it is. */
export const changeLinkSchema = z.strictObject({ id: z.uuid(), ...z.object(settings).partial().shape });

/** A link as its owner sees it. Times are ISO 8601, UTC. */
export interface LinkView {
  readonly id: string;
  readonly title: string;
  /** The batch that it shows, else null. */
  readonly batchId: string | null;
  /** The board that it shows, else null. */
  readonly boardId: string | null;
  /** Pictures that it shows now. */
  readonly pictures: number;
  /** The first of them; null when none is left. */
  readonly coverId: string | null;
  readonly hasPassword: boolean;
  readonly mayDownload: boolean;
  readonly endsAt: string | null;
  /** Its time has passed. */
  readonly hasEnded: boolean;
  /** How often its page was opened. */
  readonly views: number;
  readonly createdAt: string;
}

interface OwnLink {
  readonly ownerId: string;
  readonly id: string;
}

const endOf = (days: number | null) => (days === null ? null : sql`now() + ${days} * interval '1 day'`);

async function hashOf(services: Services, password: string | null): Promise<string | null> {
  if (password === null) return null;
  return hashPassword(password);
}

/**
 * Makes a link; the answer alone has its address, a path of the studio. Throws `not_found` for a picture, batch or board that is not the owner's,
 * `bad_request` for a password that an account could not have, `conflict` above the limit of links.
 */
export async function createLink(
  services: Services,
  { ownerId, ...input }: z.output<typeof createLinkSchema> & { readonly ownerId: string },
): Promise<LinkView & { readonly path: string }> {
  const id = newId();
  const token = randomBytes(tokenBytes).toString("base64url");
  const passwordHash = await hashOf(services, input.password);
  const imageIds = [...new Set(input.imageIds)];
  await services.db.transaction(async (tx) => {
    await lockTopic(tx, "links", ownerId);
    if (!(await ownsAll(tx, { ...input, ownerId, imageIds }))) throw new AppError("not_found");
    await tx.insert(links).values({
      id,
      ownerId,
      tokenHash: hashOfToken(token),
      batchId: input.batchId ?? null,
      boardId: input.boardId ?? null,
      title: input.title,
      endsAt: endOf(input.endsInDays),
      passwordHash,
      mayDownload: input.mayDownload,
    });
    await requireWithinLimit(tx, ownerId);
    if (imageIds.length > 0)
      await tx
        .insert(linkImages)
        .values(imageIds.map((imageId, position) => ({ linkId: id, position, imageId })));
    const { batchId = null, boardId = null, mayDownload, endsInDays } = input;
    const details = {
      pictures: imageIds.length,
      batchId,
      boardId,
      mayDownload,
      endsInDays,
      hasPassword: passwordHash !== null,
    };
    await recordAct(tx, { kind: "link.made", by: ownerId, object: id, details });
  });
  return { ...(await getLink(services, { ownerId, id })), path: `/l/${token}` };
}

/** Once there is one more. The caller holds the lock of the owner's links: two at once would both count one too few. Throws `conflict`. */
async function requireWithinLimit(tx: Tx, ownerId: string): Promise<void> {
  const held = await tx.$count(links, and(eq(links.ownerId, ownerId), isNull(links.revokedAt)));
  if (held > maxLinks)
    throw new AppError("conflict", `You have ${maxLinks} links, which is the limit. Revoke some of them.`);
}

interface Shown {
  readonly ownerId: string;
  readonly imageIds: readonly string[];
  readonly batchId?: string | undefined;
  readonly boardId?: string | undefined;
}

/** Whether what a link is to show is there and belongs to its owner; a saved search is no board. */
async function ownsAll(tx: Tx, { ownerId, imageIds, batchId, boardId }: Shown): Promise<boolean> {
  if (batchId !== undefined) {
    const isOwn = and(eq(batches.id, batchId), eq(batches.ownerId, ownerId), isNull(batches.deletedAt));
    return (await tx.$count(batches, isOwn)) === 1;
  }
  if (boardId !== undefined) {
    const isOwn = and(eq(boards.id, boardId), eq(boards.ownerId, ownerId));
    return (await tx.$count(boards, and(isOwn, isNull(boards.removedAt), isNull(boards.search)))) === 1;
  }
  const found = await tx.$count(
    images,
    sql`${images.id} in ${imageIds} and ${images.ownerId} = ${ownerId} and ${images.deletedAt} is null
      and ${images.role} <> 'mask'`,
  );
  return found === imageIds.length;
}

/**
 * The pictures of a link `l` in their order: columns `id`, `position` and `output`. Deleted ones are left out, also those of a deleted
 * batch or a removed board, and what others put on a shared board.
 */
export const picturesOf = (linkId: SQL, batchId: SQL, boardId: SQL) => sql`
  select i.id, x.position, x.output from (
    select li.image_id, li.position, 0 as output from link_images li where li.link_id = ${linkId}
    union all
    select o.image_id, p.position, o.position from batches b join batch_jobs p on p.batch_id = b.id
      join job_outputs o on o.job_id = p.job_id where b.id = ${batchId} and b.deleted_at is null
    union all
    select latest.image_id, (row_number() over (order by latest.added_at desc, latest.image_id desc))::int - 1, 0 from (
      select bi.image_id, bi.added_at from boards bo join board_images bi on bi.board_id = bo.id
        join images own on own.id = bi.image_id and own.owner_id = bo.owner_id and own.deleted_at is null
      where bo.id = ${boardId} and bo.removed_at is null and ${isNotTurnedOn(boardId, sql`own.id`)}
      order by bi.added_at desc, bi.image_id desc limit ${maxOfBoard}) latest
  ) x join images i on i.id = x.image_id and i.deleted_at is null`;

interface Row extends Omit<LinkView, "endsAt" | "createdAt">, Record<string, unknown> {
  readonly endsAt: Date | string | null;
  readonly createdAt: Date | string;
}

const iso = (at: Date | string) => new Date(at).toISOString();

async function readLinks({ db }: Services, condition: SQL): Promise<LinkView[]> {
  const rows = await db.execute<Row>(sql`
    select l.id, l.title, l.batch_id as "batchId", l.board_id as "boardId", l.password_hash is not null as "hasPassword",
      l.may_download as "mayDownload", l.ends_at as "endsAt",
      coalesce(l.ends_at <= now(), false) as "hasEnded", l.views, l.created_at as "createdAt",
      shown.pictures, shown.cover as "coverId"
    from ${links} l, lateral (
      select count(*)::int as pictures, (array_agg(p.id order by p.position, p.output))[1] as cover
      from (${picturesOf(sql`l.id`, sql`l.batch_id`, sql`l.board_id`)}) p
    ) shown
    where l.revoked_at is null and ${condition} order by l.id desc`);
  return rows.map(({ endsAt, createdAt, ...row }) => ({
    ...row,
    endsAt: endsAt && iso(endsAt),
    createdAt: iso(createdAt),
  }));
}

/** The links of an owner that were not revoked, newest first. */
export function listLinks(services: Services, ownerId: string): Promise<LinkView[]> {
  return readLinks(services, sql`l.owner_id = ${ownerId}`);
}

/** Throws `not_found`, also for a revoked one. */
export async function getLink(services: Services, { ownerId, id }: OwnLink): Promise<LinkView> {
  const [link] = isId(id) ? await readLinks(services, sql`l.owner_id = ${ownerId} and l.id = ${id}`) : [];
  if (!link) throw new AppError("not_found");
  return link;
}

function own({ ownerId, id }: OwnLink) {
  if (!isId(id)) throw new AppError("not_found");
  return and(eq(links.id, id), eq(links.ownerId, ownerId));
}

/** Changes what is named; a new password ends all proofs of the old one. Throws `not_found`, `bad_request`. */
export async function changeLink(
  services: Services,
  { ownerId, id, ...change }: z.output<typeof changeLinkSchema> & { readonly ownerId: string },
): Promise<LinkView> {
  const { title, endsInDays, password, mayDownload } = change;
  const values = {
    ...(title !== undefined && { title }),
    ...(endsInDays !== undefined && { endsAt: endOf(endsInDays) }),
    ...(password !== undefined && { passwordHash: await hashOf(services, password) }),
    ...(mayDownload !== undefined && { mayDownload }),
  };
  const changes = Object.keys(values);
  if (changes.length > 0)
    await services.db.transaction(async (tx) => {
      const changed = await tx
        .update(links)
        .set(values)
        .where(and(own({ ownerId, id }), isNull(links.revokedAt)))
        .returning({ id: links.id });
      if (changed.length > 0)
        await recordAct(tx, { kind: "link.changed", by: ownerId, object: id, details: { changes } });
    });
  return getLink(services, { ownerId, id });
}

/** Ends a link at once; `restoreLink` takes it back for a while. Throws `not_found`. */
export async function revokeLink({ db }: Services, address: OwnLink): Promise<void> {
  await db.transaction(async (tx) => {
    const rows = await tx
      .update(links)
      .set({ revokedAt: sql`coalesce(${links.revokedAt}, now())` })
      .where(own(address))
      .returning({ id: links.id });
    if (rows.length === 0) throw new AppError("not_found");
    await recordAct(tx, { kind: "link.revoked", by: address.ownerId, object: address.id });
  });
}

/** Takes a revocation back within `config.retention.undoDeleteMs`: the address works again. Throws `not_found`, and `conflict` above the limit of links. */
export async function restoreLink(services: Services, address: OwnLink): Promise<LinkView> {
  const { undoDeleteMs } = services.config.retention;
  const isRecent = sql`${links.revokedAt} > ${ago(undoDeleteMs)}`;
  await services.db.transaction(async (tx) => {
    await lockTopic(tx, "links", address.ownerId);
    const restored = await tx
      .update(links)
      .set({ revokedAt: null })
      .where(and(own(address), isRecent))
      .returning({ id: links.id });
    if (restored.length === 0) return;
    await requireWithinLimit(tx, address.ownerId);
    await recordAct(tx, { kind: "link.restored", by: address.ownerId, object: address.id });
  });
  return getLink(services, address);
}

/** A duty: removes links whose time for undo is over, and those that ended long ago. Returns how many are gone. */
export async function purgeLinks({ db, config }: Pick<Services, "db" | "config">): Promise<number> {
  const gone = await db
    .delete(links)
    .where(
      sql`${links.revokedAt} < ${ago(config.retention.undoDeleteMs)}
        or ${links.endsAt} < now() - ${endedDays} * interval '1 day'`,
    )
    .returning({ id: links.id });
  return gone.length;
}
