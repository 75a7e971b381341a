import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services/index.ts";
import type { Caller } from "./caller.ts";

export interface AccountView {
  readonly id: string;
  readonly name: string;
  /** Null for a guest. */
  readonly email: string | null;
  readonly isGuest: boolean;
  readonly isAdmin: boolean;
}

/** The caller's own account; null when it was removed in the meantime. */
export async function getAccount({ db }: Services, caller: Caller): Promise<AccountView | null> {
  const { users } = schema;
  const [user] = await db
    .select({ name: users.name, email: users.email })
    .from(users)
    .where(eq(users.id, caller.userId));
  if (!user) return null;
  return {
    id: caller.userId,
    name: user.name,
    email: caller.isGuest ? null : user.email,
    isGuest: caller.isGuest,
    isAdmin: caller.isAdmin,
  };
}
