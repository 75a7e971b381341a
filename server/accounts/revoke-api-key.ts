import { and, eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";

export interface RevokeApiKeyInput {
  readonly userId: string;
  readonly id: string;
}

/** Ends an API key at once. Throws `not_found` for an unknown key and for another's. */
export async function revokeApiKey({ db }: Services, { userId, id }: RevokeApiKeyInput): Promise<void> {
  const { apiKeys } = schema;
  const gone = await db
    .delete(apiKeys)
    .where(and(eq(apiKeys.id, id), eq(apiKeys.referenceId, userId)))
    .returning({ id: apiKeys.id });
  if (gone.length === 0) throw new AppError("not_found");
}
