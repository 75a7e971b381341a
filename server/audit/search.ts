import { type SQL, sql } from "drizzle-orm";
import { z } from "zod";
import { type Db, schema, toPage } from "../db/index.ts";
import { isStorable } from "../platform/index.ts";
import { auditGroups } from "./kinds.ts";

const { auditEntries, users } = schema;

const text = z.string().trim().max(200).refine(isStorable);
const time = z.iso
  .datetime({ offset: true })
  .refine((value) => Date.parse(value) >= 0, "must be a time from 1970 on");

/** What a search of the audit log is narrowed to; an export takes the same. */
export const auditFilterSchema = z.strictObject({
  person: text
    .optional()
    .describe("Who acted or to whom: an id, or a part of the name or e-mail address that an account has now"),
  kind: z
    .string()
    .max(80)
    .regex(/^[a-z][\w.]*$/i)
    .optional()
    .describe(`A group (${auditGroups.join(", ")}) or a kind, such as key.made`),
  address: z.string().trim().max(64).refine(isStorable).optional().describe("The address of the sender"),
  from: time.optional().describe("ISO 8601"),
  to: time.optional().describe("ISO 8601, not included"),
});

const pageFields = {
  /** Of the page before. */
  cursor: z.uuid().optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
};
export const searchAuditSchema = auditFilterSchema.extend(pageFields);

type Filter = z.output<typeof auditFilterSchema>;

/** An account as it is now; `name` and `email` are null when it is gone or a guest. */
interface Person {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
}

export interface AuditEntry {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly kind: string;
  readonly outcome: string;
  readonly actor: (typeof schema.auditActors)[number];
  readonly by: Person | null;
  readonly keyId: string | null;
  readonly person: Person | null;
  readonly objectId: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** PostgreSQL takes offsets up to 15:59, ISO 8601 more. */
const utc = (time: string) => new Date(time).toISOString();

function conditionOf({ person, kind, address, from, to }: Filter): SQL {
  const parts = [
    person ? isAbout(person) : null,
    kind ? sql`(e.kind = ${kind} or e.kind like ${`${kind.replaceAll("_", String.raw`\_`)}.%`})` : null,
    address ? sql`e.address = ${address}` : null,
    from ? sql`e.at >= ${utc(from)}::timestamptz` : null,
    to ? sql`e.at < ${utc(to)}::timestamptz` : null,
  ].filter((part) => part !== null);
  return parts.length > 0 ? sql.join(parts, sql` and `) : sql`true`;
}

/** Most accounts of one text; a longer list would be no answer to who it was. */
const maxPeople = 100;

function isAbout(person: string): SQL {
  const like = `%${person.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const ids = sql`(select array_append(array(
    select u.id from ${users} u where u.deleted_at is null and not coalesce(u.is_anonymous, false)
      and (u.name ilike ${like} or u.email ilike ${like}) limit ${maxPeople}), ${person}))::text[]`;
  return sql`(e.actor_id = any(${ids}) or e.person_id = any(${ids}))`;
}

interface Row extends Record<string, unknown> {
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly outcome: string;
  readonly actor: AuditEntry["actor"];
  readonly actorId: string | null;
  readonly actorName: string | null;
  readonly actorEmail: string | null;
  readonly keyId: string | null;
  readonly personId: string | null;
  readonly personName: string | null;
  readonly personEmail: string | null;
  readonly objectId: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly details: AuditEntry["details"];
}

interface Page {
  readonly filter: Filter;
  readonly before: string | undefined;
  readonly limit: number;
}

async function readRows(db: Pick<Db, "execute">, { filter, before, limit }: Page): Promise<AuditEntry[]> {
  const isEarlier = before === undefined ? sql`true` : sql`e.id < ${before}`;
  const rows = await db.execute<Row>(sql`
    select e.id, to_char(e.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, e.kind, e.outcome, e.actor,
      e.actor_id as "actorId", a.name as "actorName", a.email as "actorEmail", e.key_id as "keyId",
      e.person_id as "personId", p.name as "personName", p.email as "personEmail", e.object_id as "objectId",
      e.address, e.request_id as "requestId", e.details
    from ${auditEntries} e
    left join ${users} a on a.id = e.actor_id and a.deleted_at is null and not coalesce(a.is_anonymous, false)
    left join ${users} p on p.id = e.person_id and p.deleted_at is null and not coalesce(p.is_anonymous, false)
    where ${isEarlier} and ${conditionOf(filter)} order by e.id desc limit ${limit}`);
  return rows.map(viewOf);
}

function viewOf(row: Row): AuditEntry {
  const { actorId, actorName, actorEmail, personId, personName, personEmail, ...rest } = row;
  return {
    ...rest,
    by: actorId === null ? null : { id: actorId, name: actorName, email: actorEmail },
    person: personId === null ? null : { id: personId, name: personName, email: personEmail },
  };
}

export interface AuditPage {
  readonly items: readonly AuditEntry[];
  readonly nextCursor: string | null;
}

/** Entries that match, the newest first. */
export async function searchAudit(
  { db }: { readonly db: Pick<Db, "execute"> },
  { cursor, limit, ...filter }: z.output<typeof searchAuditSchema>,
): Promise<AuditPage> {
  const rows = await readRows(db, { filter, before: cursor, limit: limit + 1 });
  return toPage(rows, limit, "id");
}

export const auditFormats = ["csv", "jsonl"] as const;
type AuditFormat = (typeof auditFormats)[number];

const pageRows = 500;

const columns = [
  "at",
  "kind",
  "outcome",
  "actor",
  "by_id",
  "by_email",
  "key_id",
  "person_id",
  "person_email",
  "object_id",
  "address",
  "request_id",
  "details",
] as const;

/** A cell that a program for tables must not take for a formula. */
const cell = (value: string | null) => {
  const plain = value ?? "";
  const safe = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
  return `"${safe.replaceAll('"', '""')}"`;
};

function toCsv({ by, person, ...entry }: AuditEntry): string {
  const { at, kind, outcome, actor, keyId, objectId, address, requestId, details } = entry;
  const about = [person?.id ?? null, person?.email ?? null, objectId, address, requestId];
  const all = [at, kind, outcome, actor, by?.id ?? null, by?.email ?? null, keyId, ...about];
  return `${[...all, JSON.stringify(details)].map(cell).join(",")}\r\n`;
}

interface ExportInput {
  readonly filter: Filter;
  readonly format: AuditFormat;
  /** Asked before each page; the export breaks off when it is false. */
  readonly isAllowed: () => Promise<boolean>;
}

/** All entries that match as text, the newest first, a page in memory at a time. */
export async function* exportAudit(
  { db }: { readonly db: Pick<Db, "execute"> },
  { filter, format, isAllowed }: ExportInput,
): AsyncGenerator<string> {
  if (format === "csv") yield `${columns.join(",")}\r\n`;
  for (let before: string | undefined; ;) {
    const rows = await readRows(db, { filter, before, limit: pageRows });
    if (rows.length > 0)
      yield rows.map((row) => (format === "csv" ? toCsv(row) : `${JSON.stringify(row)}\n`)).join("");
    before = rows.at(-1)?.id;
    if (rows.length < pageRows) return;
    // Broken off, so that no file that ends early is taken for whole.
    if (!(await isAllowed())) throw new Error("the admin of this export may not read on");
  }
}
