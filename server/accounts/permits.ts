import { sql } from "drizzle-orm";
import type { Db, schema, Tx } from "../db/index.ts";
import { keptBy, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";

/**
 * Counts one request of an API key; false when its limit of this minute is reached, its own or that of all keys of its user. Half of that
 * one is divided equally among the keys in use, so that no program shuts out another one; the other half is for those that ask first.
 */
export async function takePermit(services: Services, key: RatedKey): Promise<boolean> {
  const { id, perMinute, referenceId: userId } = key;
  const all = services.config.limits.apiKeyPerMinute;
  const max = Math.min(all, perMinute ?? Number.POSITIVE_INFINITY);
  const limits = { userId, max, half: Math.floor(all / 2) };
  const own = await takeFrom(permitsOf(services), id, () => takeKeyBlock(services, id, limits));
  if (own === null) return false;
  if (own.isShare) return true;
  const rest = keysCountOf(userId);
  const first = () => takeBlock(services, rest, all - own.shares);
  return (await takeFrom(permitsOf(services), rest, first)) !== null;
}

type RatedKey = Pick<typeof schema.apiKeys.$inferSelect, "id" | "perMinute" | "referenceId">;

/** Key of the row that counts what a user's keys ask beyond their shares. */
const keysCountOf = (userId: string) => `keys|${userId}`;

/** Key of the row that counts the shares of a user's keys, also of those that are revoked since. */
const sharesCountOf = (userId: string) => `shares|${userId}`;

/** What is counted a minute besides the requests of keys: by a user's session, and by the address of an unknown sender. */
const permitLimits = {
  writes: ({ limits }: Services["config"]) => limits.sessionWritesPerMinute,
  // A folder of pictures must not stop the rest of what its owner does.
  uploads: ({ limits }: Services["config"]) => limits.sessionWritesPerMinute,
  // Each costs up to 0.8 s of computing: together less than half of a core.
  identified: () => 30,
  reads: ({ limits }: Services["config"]) => limits.sessionReadsPerMinute,
  webhooks: () => 600,
  // Of one link from one address: requests, and tries of its password.
  visits: () => 600,
  linkPasswords: () => 10,
  // Each try tells whether an address has an account.
  boardShares: () => 20,
} as const;

export type PermitKind = keyof typeof permitLimits;

/** Key of the row that counts the messages about changes of a user's account. */
export const mailCountOf = (userId: string) => `account-mails|${userId}`;

/** Key of the row that counts the codes that were sent to a user's address. */
export const codeCountOf = (userId: string) => `email-codes|${userId}`;

/** Keys of the rows that count a user. */
export const permitKeysOf = (userId: string) => [
  keysCountOf(userId),
  sharesCountOf(userId),
  ...["writes", "uploads", "identified", "reads", "boardShares"].map((kind) => `${kind}|${userId}`),
  mailCountOf(userId),
  codeCountOf(userId),
];

/** Counts one request of whom `id` names; false when the limit of this minute, which is `times` the usual, is reached. */
export async function takePermitOf(
  services: Services,
  kind: PermitKind,
  id: string,
  times = 1,
): Promise<boolean> {
  const key = `${kind}|${id}`;
  const max = permitLimits[kind](services.config) * times;
  return (await takeFrom(permitsOf(services), key, () => takeBlock(services, key, max))) !== null;
}

/** Permits of one key, or of one user's writes, that this process may use without a query. */
interface Permits {
  /** Null after a refusal. */
  readonly block: Block | null;
  left: number;
  /** Of `performance.now()`. */
  endsAtMs: number;
}

const keptPermitsOf = keptBy((_services: Services) => new Map<string, Promise<Permits>>());

function permitsOf(services: Services): Map<string, Promise<Permits>> {
  const known = keptPermitsOf(services);
  if (known.size > rememberedKeys) known.clear();
  return known;
}

interface Permit extends Pick<Block, "shares"> {
  /** Whether it is of the key's own share. */
  readonly isShare: boolean;
}

/** Null when no permit of this minute is left. */
async function takeFrom(
  known: Map<string, Promise<Permits>>,
  id: string,
  takeBlock: () => Promise<Block | undefined>,
): Promise<Permit | null> {
  for (;;) {
    const asked = known.get(id);
    const permits = await asked;
    if (permits && performance.now() < permits.endsAtMs) {
      const { block } = permits;
      if (block === null) return null;
      permits.left -= 1;
      if (permits.left >= 0)
        return { isShare: block.granted - permits.left <= block.ofShare, shares: block.shares };
    }
    // When the block is used up, the first request takes the next block and the others wait for it.
    if (known.get(id) !== asked) continue;
    const next = permitsFrom(takeBlock());
    known.set(id, next);
    next.catch(() => known.delete(id));
  }
}

/** A full row is written this often per minute and process, whatever its limit. */
const blocksPerMinute = 20;
/** Shortest time between two queries after a refusal. */
const refusalMs = 1_000;
const rememberedKeys = 10_000;

async function permitsFrom(taken: Promise<Block | undefined>): Promise<Permits> {
  const block = await taken;
  return block
    ? { block, left: block.granted, endsAtMs: performance.now() + block.leftMs }
    : { block: null, left: 0, endsAtMs: performance.now() + refusalMs };
}

interface Block {
  readonly granted: number;
  readonly leftMs: number;
  /** How many of those granted are of the key's own share, the first ones. */
  readonly ofShare: number;
  /** What all keys of the user have as their shares in a minute, together. */
  readonly shares: number;
}

const blockOf = (max: number) => Math.max(1, Math.floor(max / blocksPerMinute));

/**
 * Takes a block of permits of the current minute from the key's row. All processes take from the same row, so the
 * limit holds for all of them together; the row lock decides between two at once. A block of the key's share is a part of it, so that no
 * process holds all of it. A time that lies ahead is of a clock that was set back since.
 */
async function takeKeyBlock(
  services: Services,
  keyId: string,
  limits: KeyLimits,
): Promise<Block | undefined> {
  const { userId, max, half } = limits;
  const minute = sql`date_trunc('minute', statement_timestamp())`;
  const rows = await services.db.execute<Omit<Block, "ofShare"> & { isShare: boolean }>(sql`
    with held as (
      select id, case when last_request >= ${minute} and last_request < ${minute} + interval '2 minutes'
          then coalesce(request_count, 0) else 0 end as used,
        (select 1 + count(*)::int from api_keys other where other.reference_id = ${userId} and other.id <> api_keys.id
          and other.enabled is not false and (other.expires_at is null or other.expires_at > statement_timestamp())
          and coalesce(other.last_request, other.created_at) > statement_timestamp() - interval '1 day') as sharers
      from api_keys where id = ${keyId} for update
    ), shared as (select *, ${half}::int / sharers as share from held)
    update api_keys set last_request = statement_timestamp(), request_count = least(${max}::int, case when used < share
      then least(share, used + greatest(1, least(${blockOf(max)}::int, share / ${blocksPerMinute / 2}::int)))
      else used + ${blockOf(max)}::int end)
    from shared where api_keys.id = shared.id and used < ${max}::int
    returning api_keys.request_count - used as granted, used < share as "isShare", share * sharers as shares,
      (extract(epoch from ${minute} + interval '1 minute' - statement_timestamp()) * 1000)::int as "leftMs"`);
  const block = rows[0];
  if (!block?.isShare) return block && { ...block, ofShare: 0 };
  // Exactly what the key was granted, so that no process holds of it what another key needs.
  const share = await takeBlock(services, sharesCountOf(userId), half, block.granted);
  return { ...block, ofShare: share?.granted ?? 0 };
}

interface KeyLimits {
  readonly userId: string;
  /** Requests of the key in a minute. */
  readonly max: number;
  /** Of what all keys of the user may ask, to be divided among them. */
  readonly half: number;
}

/** The same for a row of its own. A block that passes the limit is counted and not granted. */
async function takeBlock(
  { db }: Services,
  key: string,
  max: number,
  block = blockOf(max),
): Promise<Block | undefined> {
  const minuteMs = sql`(extract(epoch from date_trunc('minute', statement_timestamp())) * 1000)::bigint`;
  const rows = await db.execute<{ used: number; leftMs: number }>(sql`
    insert into rate_limits (id, key, count, last_request)
    values (${newId()}, ${key}, ${block}::int, ${minuteMs})
    on conflict (key) do update set last_request = excluded.last_request, count = ${block}::int + case
      when rate_limits.last_request = excluded.last_request then least(rate_limits.count, ${max}::int) else 0 end
    returning count as used,
      (last_request + 60000 - extract(epoch from statement_timestamp()) * 1000)::int as "leftMs"`);
  const taken = rows[0];
  const before = (taken?.used ?? max + block) - block;
  const granted = Math.min(block, max - before);
  return taken && granted > 0 ? { granted, leftMs: taken.leftMs, ofShare: 0, shares: 0 } : undefined;
}

const tryWindowMs = 60_000;
/** Failed tries in a window, of all unknown devices together and of each known device. */
export const tries = 10;

interface TryLimit {
  readonly windowMs: number;
  readonly max: number;
}

/** Counts a try and returns whether it is within the limit. Counted before the password is checked: parallel tries cannot pass together. */
export async function countTry(
  db: Db | Tx,
  key: string,
  { windowMs, max }: TryLimit = { windowMs: tryWindowMs, max: tries },
): Promise<boolean> {
  // A window that begins ahead is of a clock that was set back since.
  const isOver = sql`rate_limits.last_request not between ${nowMs} - ${windowMs}::bigint + 1 and ${nowMs} + ${windowMs}::bigint`;
  const rows = await db.execute<{ count: number }>(sql`
    insert into rate_limits (id, key, count, last_request) values (${newId()}, ${key}, 1, ${nowMs})
    on conflict (key) do update set
      count = case when ${isOver} then 1 else rate_limits.count + 1 end,
      last_request = case when ${isOver} then excluded.last_request else rate_limits.last_request end
    returning count`);
  return (rows[0]?.count ?? 0) <= max;
}

/** Takes back one try that was counted. */
export async function forgetTry(db: Db | Tx, key: string): Promise<void> {
  await db.execute(sql`update rate_limits set count = greatest(count - 1, 0) where key = ${key}`);
}

const nowMs = sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
