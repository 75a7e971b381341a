import { type SQL, sql } from "drizzle-orm";
import { lockTopic, schema } from "../../db/index.ts";
import type { Services } from "../../services.ts";
import { keyOfTalk } from "../life.ts";
import type { VectorModel } from "../models.ts";
import { textArray } from "./stems.ts";

const { assistantMessages, assistantSettings, memories, recallVectors, users } = schema;

/** A text without a vector of the model. */
export interface Unembedded {
  readonly kind: "memory" | "message";
  readonly id: string;
  readonly ownerId: string;
  /** The API key that asked last in its talk. */
  readonly apiKeyId: string | null;
  readonly text: string;
  /** Of the text, to notice that it was changed meanwhile. */
  readonly md5: string;
}

interface FindInput {
  readonly model: VectorModel;
  /** Only ids behind this one: a round reads the log once, in the order of ids. */
  readonly after: string;
  /** Texts that have to wait, and users. */
  readonly leftOut: { readonly textIds: readonly string[]; readonly ownerIds: readonly string[] };
  /** Only what was said or written in the last hour: cheap for a long log. */
  readonly isRecent: boolean;
}

const pageRows = 1_000;

/**
 * Texts that the search may find and that have no vector of the model, by their ids. Those of users who paused their memory
 * have to wait, and those of guests where the model costs money.
 */
export async function findUnembedded(
  { db }: Pick<Services, "db">,
  { model, after, leftOut, isRecent }: FindInput,
): Promise<Unembedded[]> {
  const isFree = model.price.inputUsd === 0;
  const recent = (column: SQL) =>
    isRecent ? sql`${column} > clock_timestamp() - interval '1 hour'` : sql`true`;
  const page = sql`order by m.id limit ${pageRows}`;
  const mayBe = sql`m.id > ${after} and m.id <> all(${textArray(leftOut.textIds)}::uuid[])
    and m.owner_id <> all(${textArray(leftOut.ownerIds)})
    and not exists (select from ${recallVectors} v where v.id = m.id and v.model = ${model.key})
    and not exists (select from ${assistantSettings} s where s.user_id = m.owner_id and s.is_memory_paused)
    and (${isFree} or exists (select from ${users} u where u.id = m.owner_id and u.is_anonymous is not true))`;
  const apiKeyId = keyOfTalk(sql`m.conversation_id`);
  const said = model.knowsSpeakers ? sql`coalesce(m.speaker || ': ', '') || m.text` : sql`m.text`;
  const rows = await db.execute<Unembedded & Record<string, unknown>>(sql`
    (select 'memory' as kind, m.id, m.owner_id as "ownerId", ${apiKeyId} as "apiKeyId", m.summary as text, md5(m.summary) as md5
      from ${memories} m where ${mayBe} and ${recent(sql`m.updated_at`)} ${page})
    union all
    (select 'message', m.id, m.owner_id, ${apiKeyId}, ${said}, md5(m.text)
      from ${assistantMessages} m where m.is_recalled and m.text ~ '\\S' and ${mayBe} and ${recent(sql`m.at`)} ${page})
    order by id limit ${pageRows}`);
  return [...rows];
}

export interface Embedded {
  readonly text: Unembedded;
  /** Null for a text that the model cannot embed. */
  readonly codes: Uint8Array | null;
}

interface StoreInput {
  readonly ownerId: string;
  readonly model: VectorModel;
  readonly dimensions: number;
  readonly embedded: readonly Embedded[];
}

/**
 * Stores vectors of one user's texts, but for texts that were changed or deleted meanwhile. Of two workers that store the
 * same the later one replaces equal with equal.
 */
export async function storeVectors(
  { db }: Pick<Services, "db">,
  { ownerId, model, dimensions, embedded }: StoreInput,
): Promise<void> {
  const columns = [
    embedded.map(({ text }) => text.id),
    embedded.map(({ text }) => text.md5),
    embedded.map(({ codes }) => Buffer.from(codes ?? []).toString("base64")),
  ].map(textArray);
  const made = sql`unnest(${sql.join(columns, sql`, `)}) made (id, md5, codes)`;
  const values = sql`${model.key}, case when made.codes = '' then 0 else ${dimensions}::int end, decode(made.codes, 'base64')`;
  const insert = sql`insert into ${recallVectors} (id, owner_id, kind, model, dimensions, codes, from_at, to_at)`;
  const replace = sql`on conflict (id) do update set model = excluded.model, dimensions = excluded.dimensions,
    codes = excluded.codes, revision = excluded.revision`;
  await db.transaction(async (tx) => {
    // Revisions of one user are given and committed in one order: a reader that knows one has read all before it.
    await lockTopic(tx, "recall_vectors", ownerId);
    // The locks: whoever changes or deletes a text waits, and its trigger then finds the vector.
    await tx.execute(sql`
      ${insert} select m.id, m.owner_id, 'message', ${values}, m.at, m.at
      from ${made} join ${assistantMessages} m on m.id = made.id::uuid and m.owner_id = ${ownerId} and m.is_recalled and md5(m.text) = made.md5
      for share of m ${replace}`);
    await tx.execute(sql`
      ${insert} select m.id, m.owner_id, 'memory', ${values}, m.period_start, m.period_end
      from ${made} join ${memories} m on m.id = made.id::uuid and m.owner_id = ${ownerId} and md5(m.summary) = made.md5
      for share of m ${replace}`);
  });
}

/** Removes vectors that the model made before it was exchanged for another one of the same name. */
export async function dropOtherDimensions(
  { db }: Pick<Services, "db">,
  { model, dimensions }: Pick<StoreInput, "model" | "dimensions">,
): Promise<void> {
  await db.execute(sql`
    delete from ${recallVectors} where model = ${model.key} and dimensions not in (0, ${dimensions})`);
}
