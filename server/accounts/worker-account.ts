import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { serviceRole } from "./first-admin.ts";

/** No mail ever reaches it, and it has no password: nobody can sign in with it. */
const email = "workers@atelier.invalid";

/**
 * The account that owns what is submitted at workers' own endpoints; made on first use. One for all workers: the job
 * can be read at each of them, and direct clients together have one share of the line and one limit of open jobs.
 */
export async function workerAccount({ db }: Pick<Services, "db">): Promise<{ id: string }> {
  const { users } = schema;
  const find = () => db.select({ id: users.id }).from(users).where(eq(users.email, email));
  const [known] = await find();
  if (known) return known;
  await db
    .insert(users)
    .values({ id: newId(), name: "Workers", email, emailVerified: true, role: serviceRole })
    .onConflictDoNothing({ target: users.email });
  const [made] = await find();
  if (!made) throw new Error("the account of the workers was not stored");
  return made;
}
