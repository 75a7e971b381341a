import { sql } from "drizzle-orm";
import { type Db, schema, surelyAgo, type Tx } from "../db/index.ts";
import { type Config, currentRequestId, currentSender, isId, newId } from "../platform/index.ts";
import type { AuditKind } from "./kinds.ts";

const { auditEntries } = schema;

interface Act {
  readonly kind: AuditKind;
  /** The user in whose name it is done; null: nobody who is known, or an operator on the command line. */
  readonly by: string | null;
  /** The user to whom it is done. */
  readonly to?: string | null | undefined;
  /** Id of what it is done to. */
  readonly object?: string | null | undefined;
  /** The code of a refusal; `ok` by default. */
  readonly outcome?: string;
  /** Ids, names of settings and figures; never names of people, addresses of mail, prompts or secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The row of an act, for SQL that stores it with the act. */
export function entryOf(act: Act): typeof auditEntries.$inferInsert {
  const { actorId, ...sent } = sentBy(act.by);
  const person = act.to ?? act.by;
  return {
    id: newId(),
    kind: act.kind.slice(0, maxKindLength),
    outcome: act.outcome ?? "ok",
    ...sent,
    actorId,
    personId: person === actorId ? null : person,
    objectId: act.object ?? null,
    requestId: storedRequestId(),
    details: act.details ?? {},
  };
}

function sentBy(by: string | null) {
  const sender = currentSender();
  const actorId = sender?.isOperator ? null : (sender?.userId ?? by);
  return {
    actor: actorOf(actorId, sender),
    actorId,
    keyId: sender?.keyId ?? null,
    address: sender?.address ?? null,
  };
}

/**
 * Adds an entry about an act of the current request; in the transaction of the act where it has one, so that neither is
 * without the other. A key of an admin that acts for another user is the actor, and that user the person.
 */
export async function recordAct(db: Pick<Db | Tx, "insert">, act: Act): Promise<void> {
  await db.insert(auditEntries).values(entryOf(act));
}

const maxKindLength = 80;

/** A client chooses its id freely, so only one in the form of a UUID, or an id that was made here, is kept. */
function storedRequestId(): string | null {
  const id = currentRequestId();
  return id !== null && isId(id.replace(/^req-/, "")) ? id : null;
}

function actorOf(
  actorId: string | null,
  sender: ReturnType<typeof currentSender>,
): (typeof schema.auditActors)[number] {
  if (actorId !== null) return sender?.keyId ? "key" : "user";
  return sender && !sender.isOperator ? "nobody" : "operator";
}

/** Entries of one statement of the sweep. */
const batchRows = 5_000;

/** A duty: removes entries older than `config.retention.auditMs`, and none of the last 30 days. Returns how many are gone. */
export async function pruneAudit({
  db,
  config,
}: {
  readonly db: Db;
  readonly config: Config;
}): Promise<number> {
  let gone = 0;
  for (;;) {
    const { count } = await db.transaction(async (tx) => {
      // The trigger lets go of what is older than this alone.
      await tx.execute(sql`select set_config('atelier.audit_before',
        (${surelyAgo(config.retention.auditMs)})::text, true)`);
      return tx.execute(sql`delete from ${auditEntries} where id = any(array(
        select id from ${auditEntries} where at < current_setting('atelier.audit_before')::timestamptz
          and at < now() - interval '30 days' order by at limit ${batchRows}))`);
    });
    gone += count;
    if (count < batchRows) return gone;
  }
}
