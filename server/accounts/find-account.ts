import { and, eq, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";

/** The account with an e-mail address, never a guest. Throws `not_found`. */
export async function findAccount({ db }: Services, input: { email: string }): Promise<{ id: string }> {
  const { users } = schema;
  const [user] = await db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.email, input.email.trim().toLowerCase()), sql`${users.isAnonymous} is not true`));
  if (!user) throw new AppError("not_found", `There is no account with the address ${input.email}.`);
  return user;
}
