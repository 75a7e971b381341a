import { sql } from "drizzle-orm";
import type { Tx } from "./client.ts";

/** What takes turns, each for one key: an owner, unless it says another one. */
type Topic =
  /** By address. */
  | "account"
  | "admins"
  | "api keys"
  | "assistant_ask"
  | "boards"
  /** By name. */
  | "client user"
  | "links"
  | "months"
  | "pins"
  | "presets"
  /** By role. */
  | "prompts"
  /** One for the studio. */
  | "publish_workflows"
  | "recall_vectors"
  /** Of nodes, by name. */
  | "register"
  | "reorder"
  /** By stack. */
  | "stack"
  | "tags"
  /** By chat, as the next one. */
  | "telegram chat"
  | "telegram requests"
  | "uploads"
  | "wardrobe"
  | "webhook endpoints";

/**
 * Transactions of one topic and key follow each other: this one waits for the one before it, and later ones wait until it ends.
 * The lock is a statement of its own, so that the statements after it see what the one before committed. Locks that SQL
 * functions take as well are in functions/locks.sql. Do not rename a topic: processes of two versions must meet.
 */
export async function lockTopic(tx: Tx, topic: Topic, key?: string | null): Promise<void> {
  const hash = key === undefined ? sql`0` : sql`hashtext(${key ?? ""})`;
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext(${topic}), ${hash})`);
}
