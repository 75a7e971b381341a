import { sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";

const { assistantConversations, assistantMessages, users } = schema;

/** A message of a talk that was held elsewhere. */
export interface ForeignMessage {
  /** Any text; equal for all messages of one talk. */
  readonly session: string;
  /** Any text; unique within the user. */
  readonly id: string;
  readonly at: Date;
  readonly speaker: string;
  readonly text: string;
}

/** Ids that the messages got, by those that they had. */
export type ImportedIds = ReadonlyMap<string, string>;

const rowsPerInsert = 1_000;

/** Makes a user for measurements: nobody can sign in as it. */
export async function addSpeaker(db: Db, name: string): Promise<string> {
  const id = newId();
  await db.insert(users).values({ id, name, email: `${id}@invalid.example`, emailVerified: false });
  return id;
}

/** Stores talks as the log of a user, in few large statements. */
export async function importTalks(
  db: Db,
  ownerId: string,
  messages: readonly ForeignMessage[],
): Promise<ImportedIds> {
  const conversations = new Map<string, string>();
  for (const { session } of messages) if (!conversations.has(session)) conversations.set(session, newId());
  for (const part of partsOf([...conversations]))
    await db
      .insert(assistantConversations)
      .values(part.map(([session, id]) => ({ id, ownerId, title: session.slice(0, 80) })));
  const ids = new Map<string, string>();
  const rows = messages.map(({ session, id: foreignId, at, speaker, text }) => {
    const id = newId();
    ids.set(foreignId, id);
    const conversationId = conversations.get(session) ?? "";
    return { id, conversationId, ownerId, role: "user" as const, speaker, text, at };
  });
  for (const part of partsOf(rows)) await db.insert(assistantMessages).values(part);
  await db.execute(sql`analyze ${assistantMessages}`);
  return ids;
}

function partsOf<Row>(rows: readonly Row[]): Row[][] {
  const count = Math.ceil(rows.length / rowsPerInsert);
  return Array.from({ length: count }, (_, at) => rows.slice(at * rowsPerInsert, (at + 1) * rowsPerInsert));
}
