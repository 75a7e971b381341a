import { sql } from "drizzle-orm";
import type { Tx } from "./client.ts";

/** What takes turns, each for one key: an owner, unless it says another one. */
type Topic =
  | "admins"
  | "assistant_ask"
  | "boards"
  /** By name. */
  | "client user"
  | "links"
  | "months"
  | "presets"
  /** By role. */
  | "prompts"
  /** One for the studio. */
  | "publish_workflows"
  | "recall_vectors"
  /** Of nodes, by name. */
  | "register"
  | "reorder"
  /** By chat, as the next one. */
  | "telegram chat"
  | "telegram requests"
  | "uploads"
  | "webhook endpoints";

/**
 * Waits for other transactions of this topic and key, and makes later ones wait until this one ends. A statement of its own:
 * those that follow see what the last holder committed. Locks that SQL functions take as well are in functions/locks.sql.
 * Processes of two versions exclude each other by the names.
 */
export async function lockTopic(tx: Tx, topic: Topic, key?: string | null): Promise<void> {
  const hash = key === undefined ? sql`0` : sql`hashtext(${key ?? ""})`;
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext(${topic}), ${hash})`);
}
