import { and, eq } from "drizzle-orm";
import { type Db, schema, type Tx } from "../db/index.ts";
import { AppError } from "../platform/index.ts";

/** A key under which an owner's request is done once, with the hash that a repeated request is known by. */
export interface RequestKey {
  readonly ownerId: string;
  readonly name: string;
  readonly sha256: string;
}

/** How the names of the studio's own keys begin. */
const ownMarks = [
  "ask:",
  "assistant-",
  "batch:",
  "cancelled:",
  "mcp ",
  "openai ",
  "retry:",
  "sdapi ",
  "step:",
  "telegram ",
];
/** No client can send this: its key is one line of text. */
const clientMark = "client\t";

const isOwn = (name: string) => ownMarks.some((mark) => name.startsWith(mark));

/** The name of a key of the studio's own, which no client's key of a job is stored under. */
export function ownKeyName(name: string): string {
  if (!isOwn(name)) throw new AppError("internal", `Keys of the studio do not begin like "${name}".`);
  return name;
}

/**
 * The name of a client's own key: as it was sent, unless that begins like one of the studio's. Earlier versions stored those
 * as well as they were sent, and such a row still answers the same request where no later one does.
 */
export async function clientKeyName(db: Db, key: RequestKey): Promise<string> {
  const { ownerId, name, sha256 } = key;
  if (!isOwn(name)) return name;
  const marked = `${clientMark}${name}`;
  if (await readRow(db, { ownerId, name: marked })) return marked;
  const row = await readRow(db, { ownerId, name });
  return row?.sha256 === sha256 ? name : marked;
}

/** The id of what the key began, also when that is gone; null for a new key. Throws `idempotency_mismatch` for another request. */
export async function findBegun(db: Db | Tx, key: RequestKey): Promise<string | null> {
  const row = await readRow(db, key);
  if (row && row.sha256 !== key.sha256) throw new AppError("idempotency_mismatch");
  return row?.id ?? null;
}

/** Lets a key of the studio's own begin something new, unless it stands for another job by now. */
export async function forgetOwnKey(
  { db }: { readonly db: Db },
  { ownerId, ownKey, jobId }: { readonly ownerId: string; readonly ownKey: string; readonly jobId: string },
): Promise<void> {
  const { idempotencyKeys: keys } = schema;
  const isIts = and(eq(keys.ownerId, ownerId), eq(keys.key, ownKeyName(ownKey)), eq(keys.jobId, jobId));
  await db.delete(keys).where(isIts);
}

async function readRow(db: Db | Tx, { ownerId, name }: Pick<RequestKey, "ownerId" | "name">) {
  const { idempotencyKeys: keys } = schema;
  const [row] = await db
    .select({ id: keys.jobId, sha256: keys.requestSha256 })
    .from(keys)
    .where(and(eq(keys.ownerId, ownerId), eq(keys.key, name)));
  return row;
}
