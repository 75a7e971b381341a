import { desc, eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";

/** An API key as its owner sees it. Times are ISO 8601, UTC. */
export interface ApiKeyView {
  readonly id: string;
  readonly name: string;
  /** Its first characters, to tell keys apart. */
  readonly start: string;
  readonly createdAt: string;
  /** To the minute; null when it was never used. */
  readonly lastUsedAt: string | null;
}

/** The keys of a user, newest first. */
export async function listApiKeys({ db }: Services, input: { userId: string }): Promise<ApiKeyView[]> {
  const { apiKeys } = schema;
  const rows = await db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.referenceId, input.userId))
    .orderBy(desc(apiKeys.id));
  return rows.map((row) => ({
    id: row.id,
    name: row.name ?? "",
    start: row.start ?? "",
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.lastRequest?.toISOString() ?? null,
  }));
}
