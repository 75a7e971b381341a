import type { GenericEndpointContext } from "better-auth";
import { eq, sql } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { lockBoardNames } from "../board-names.ts";
import { type Db, schema, type Tx } from "../db/index.ts";
import { goneAt, lockUploadsOf } from "../images/index.ts";
import type { Services } from "../services.ts";
import { type Merge, moveBoards, movePresets, moveTags } from "./merge-names.ts";
import { refuse } from "./user-data.ts";

const { sessions } = schema;

export interface MergeGuestInput extends Merge {
  /** Of an account without a quota of its own. */
  readonly bytesPerUser: number;
}

interface TakenAlong {
  readonly guestId: string;
  /** The new one of the account. */
  readonly session: { readonly id: string; readonly userId: string };
}

/** Merges a guest whom a request signs in. Throws APIError where that does not fit: the session has ended then, and the guest stays one. */
export async function takeGuestAlong(
  { db, config }: Pick<Services, "db" | "config">,
  { context }: GenericEndpointContext,
  { guestId, session: { id, userId } }: TakenAlong,
): Promise<void> {
  const { bytesPerUser } = config.limits;
  const lack = await mergeGuest(db, { guestId, accountId: userId, bytesPerUser });
  if (lack === null) return;
  await db.delete(sessions).where(eq(sessions.id, id));
  context.setNewSession(null);
  // The browser keeps the guest's session.
  const answered: unknown = Reflect.get(context, "responseHeaders");
  if (answered instanceof Headers) answered.delete("set-cookie");
  refuse("FORBIDDEN", lack);
}

/** SQLSTATEs of a new row of the guest (it differs by version), of the same bytes at the same moment, and of a deadlock. */
const retryableCodes = new Set(["23001", "23503", "23505", "40P01"]);
const tries = 5;

/**
 * Moves all rows of a guest to an account and removes the guest, in one transaction. Repeated when a row of the
 * guest came in while it ran. Idempotent. What does not fit moves nothing: then it returns what `describeLackOfSpace` says.
 */
export async function mergeGuest(db: Db, input: MergeGuestInput): Promise<string | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await mergeOnce(db, input, attempt);
    } catch (error) {
      if (attempt === tries || !isRetryable(error)) throw error;
    }
  }
}

function isRetryable(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && retryableCodes.has(String(cause.code));
}

/**
 * The first attempt locks nothing ahead, because a worker that ends a job holds the job and then asks for the owner: the
 * other way round would deadlock. If new rows came in, the next tries keep them out by locking the guest first.
 */
async function mergeOnce(db: Db, input: MergeGuestInput, attempt: number): Promise<string | null> {
  return db.transaction(async (tx) => {
    // Before the rows of the users, for which others wait who hold it.
    await lockBoardNames(tx, [input.guestId, input.accountId]);
    // Of guests who are merged at once, each counts the one before.
    await lockUploadsOf(tx, input.accountId);
    // A guest who is being deleted keeps everything; the weaker lock stops a deletion, but no worker.
    const strength = attempt > 1 ? sql`for update` : sql`for share`;
    const guest = await tx.execute(
      sql`select 1 from users where id = ${input.guestId} and deleted_at is null ${strength}`,
    );
    // Nor does an account that is being deleted take a guest along.
    const account = await tx.execute(
      sql`select 1 from users where id = ${input.accountId} and deleted_at is null for share`,
    );
    if (guest.length === 0 || account.length === 0) return null;
    const lack = await describeLackOfSpace(tx, input);
    if (lack !== null) return lack;
    await moveAll(tx, input);
    await recordAct(tx, { kind: "account.guest_merged", by: input.accountId, object: input.guestId });
    return null;
  });
}

/**
 * Why the pictures of a guest do not fit into an account; null when they do. Guests must not be a way past its quota, so
 * the trash of both counts: the account can restore it.
 */
export async function describeLackOfSpace(
  db: Db | Tx,
  { guestId, accountId, bytesPerUser }: MergeGuestInput,
): Promise<string | null> {
  const [found] = await db.execute<{ isOver: boolean; guestBytes: number }>(sql`
    select coalesce(sum(i.size_bytes), 0) > coalesce(
        (select quota_bytes from users where id = ${accountId}), ${bytesPerUser}::bigint) as "isOver",
      coalesce(sum(i.size_bytes) filter (where i.owner_id = ${guestId}), 0)::float8 as "guestBytes"
    from images i
    where i.owner_id in (${guestId}, ${accountId}) and (i.deleted_at is null or i.deleted_at > ${goneAt})`);
  if (!found?.isOver || found.guestBytes === 0) return null;
  const mb = Math.ceil(found.guestBytes / 1024 ** 2);
  return `The ${mb} MB of pictures that you made as a guest do not fit into this account. Delete some of them or of the account's for good, or empty the trash.`;
}

/** The guest goes last: its foreign keys prove that nothing is left behind. */
async function moveAll(tx: Tx, input: MergeGuestInput): Promise<void> {
  await tx.execute(sql`update jobs set owner_id = ${input.accountId} where owner_id = ${input.guestId}`);
  await moveImages(tx, input);
  await tx.execute(
    sql`update direct_uploads set owner_id = ${input.accountId} where owner_id = ${input.guestId}`,
  );
  await moveDeliveries(tx, input);
  await moveBoards(tx, input);
  await moveOwnRows(tx, input);
  await moveTags(tx, input);
  await movePresets(tx, input);
  await moveKeyedRows(tx, input);
  await tx.execute(sql`
    update users set locale = guest.locale from users guest
    where users.id = ${input.accountId} and guest.id = ${input.guestId} and users.locale is null`);
  await tx.execute(sql`delete from users where id = ${input.guestId} and is_anonymous`);
}

/**
 * Where both have the same bytes, both pictures stay, because jobs refer to either; the guest's gives up its claim to
 * be *the* upload of these bytes.
 */
async function moveImages(tx: Tx, { guestId, accountId }: MergeGuestInput): Promise<void> {
  await tx.execute(sql`
    update images set owner_id = ${accountId},
      upload_sha256 = case when exists (
        select 1 from images own
        where own.owner_id = ${accountId} and own.role = images.role
          and own.upload_sha256 = images.upload_sha256 and own.deleted_at is null
      ) then null else upload_sha256 end
    where owner_id = ${guestId}`);
  // They are compared again, now with the pictures of the account.
  await tx.execute(
    sql`update likenesses set owner_id = ${accountId}, compared_at = null where owner_id = ${guestId}`,
  );
  await tx.execute(sql`update duplicate_pairs set owner_id = ${accountId} where owner_id = ${guestId}`);
}

/** A guest's secret for the webhooks of jobs is dropped where the account has one; the account's then signs. */
async function moveDeliveries(tx: Tx, { guestId, accountId }: MergeGuestInput): Promise<void> {
  await tx.execute(sql`update deliveries set owner_id = ${accountId} where owner_id = ${guestId}`);
  await tx.execute(sql`
    update webhook_endpoints set owner_id = ${accountId}
    where owner_id = ${guestId} and not exists (
      select 1 from webhook_endpoints own
      where own.owner_id = ${accountId} and own.url is not distinct from webhook_endpoints.url)`);
  await tx.execute(sql`
    update notification_settings set owner_id = ${accountId}
    where owner_id = ${guestId} and not exists (
      select 1 from notification_settings own
      where own.owner_id = ${accountId} and own.channel = notification_settings.channel)`);
}

const ownTables = [
  "batches",
  "edits",
  "wardrobe_items",
  "links",
  "assistant_conversations",
  "assistant_messages",
  "assistant_runs",
  "memories",
  "model_calls",
  "daily_spend",
  "proposals",
] as const;

/**
 * Batches, edits, and what the guest said to the assistant; whether memory is paused the account decides. Pictures that either
 * does not want described are described for neither.
 */
async function moveOwnRows(tx: Tx, { guestId, accountId }: MergeGuestInput): Promise<void> {
  for (const table of ownTables)
    await tx.execute(
      sql`update ${sql.identifier(table)} set owner_id = ${accountId} where owner_id = ${guestId}`,
    );
  await tx.execute(sql`
    insert into assistant_settings (user_id, describes_pictures)
    select ${accountId}, false from assistant_settings where user_id = ${guestId} and not describes_pictures
    on conflict (user_id) do update set describes_pictures = false`);
}

/** Rows that the account already has are deleted with the guest. */
async function moveKeyedRows(tx: Tx, { guestId, accountId }: MergeGuestInput): Promise<void> {
  await tx.execute(sql`
    update idempotency_keys set owner_id = ${accountId}
    where owner_id = ${guestId} and not exists (
      select 1 from idempotency_keys own where own.owner_id = ${accountId} and own.key = idempotency_keys.key)`);
  await tx.execute(sql`
    update consents set owner_id = ${accountId}
    where owner_id = ${guestId} and not exists (
      select 1 from consents own where own.owner_id = ${accountId}
        and own.stored_sha256 = consents.stored_sha256 and own.statement = consents.statement)`);
  await tx.execute(sql`
    insert into queue_turns (queue, owner_id, served_at)
    select queue, ${accountId}, served_at from queue_turns where owner_id = ${guestId}
    on conflict (queue, owner_id) do update set
      served_at = greatest(queue_turns.served_at, excluded.served_at)`);
}
