import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { authOf } from "./auth.ts";

const maxKeys = 50;

export interface CreateApiKeyInput {
  readonly userId: string;
  /** 1..100 characters. */
  readonly name: string;
}

/** Makes an API key; `key` is shown this once, only its hash is stored. Throws `conflict` above 50 keys. */
export async function createApiKey(
  services: Services,
  { userId, name }: CreateApiKeyInput,
): Promise<{ id: string; key: string }> {
  const held = await services.db.$count(schema.apiKeys, eq(schema.apiKeys.referenceId, userId));
  if (held >= maxKeys)
    throw new AppError("conflict", `You have ${maxKeys} API keys, which is the limit. Revoke one first.`);
  const made = await authOf(services).api.createApiKey({ body: { userId, name } });
  return { id: made.id, key: made.key };
}
