import { symmetricDecrypt } from "better-auth/crypto";
import { and, asc, eq, gt } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";

const { twoFactors } = schema;

type Reading = Pick<Services, "db" | "env">;

/** Whether the key of an app can be read, which the library encrypted with the `AUTH_SECRET` of then. */
async function opens({ AUTH_SECRET: key }: Services["env"], secret: string): Promise<boolean> {
  if (key === undefined) return false;
  return symmetricDecrypt({ key, data: secret }).then(
    () => true,
    () => false,
  );
}

/** Whether the second factor of a user was encrypted with another `AUTH_SECRET`: then no code of it is ever right. */
export async function isFactorUnreadable({ db, env }: Reading, userId: string): Promise<boolean> {
  const [row] = await db
    .select({ secret: twoFactors.secret })
    .from(twoFactors)
    .where(eq(twoFactors.userId, userId));
  return row !== undefined && !(await opens(env, row.secret));
}

/** Rows of one query. */
const batchSize = 500;

/** How many users have a second factor that this process cannot read. */
export async function countUnreadableFactors(services: Reading, after = ""): Promise<number> {
  const { id, secret } = twoFactors;
  const rows = await services.db
    .select({ id, secret })
    .from(twoFactors)
    .where(and(eq(twoFactors.verified, true), gt(id, after)))
    .orderBy(asc(id))
    .limit(batchSize);
  let count = 0;
  for (const row of rows) if (!(await opens(services.env, row.secret))) count += 1;
  const last = rows.at(-1);
  return rows.length < batchSize || !last ? count : count + (await countUnreadableFactors(services, last.id));
}
