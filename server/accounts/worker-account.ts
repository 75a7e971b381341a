import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { serviceRole } from "./first-admin.ts";

/** No mail ever reaches it, and it has no password: nobody can sign in with it. */
const serviceEmail = "workers@atelier.invalid";

/**
 * The account that owns what is submitted at workers' own endpoints; made on first use. One for all workers: the job
 * can be read at each of them, and direct clients together have one share of the line and one limit of open jobs.
 * Found by its role, which no person can have; an account of a person may hold its address.
 */
export async function workerAccount({ db }: Pick<Services, "db">): Promise<{ id: string }> {
  const { users } = schema;
  const find = () => db.select({ id: users.id }).from(users).where(eq(users.role, serviceRole));
  for (const email of [serviceEmail, `workers-${newId()}@atelier.invalid`]) {
    const [known] = await find();
    if (known) return known;
    // The unique index on the role settles two workers that make it at once.
    await db
      .insert(users)
      .values({ id: newId(), name: "Workers", email, emailVerified: true, role: serviceRole })
      .onConflictDoNothing();
  }
  const [made] = await find();
  if (!made) throw new Error("the account of the workers was not stored");
  return made;
}
