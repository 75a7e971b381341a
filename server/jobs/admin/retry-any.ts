import { eq } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import { AppError, isId } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";
import { retry } from "../retry.ts";
import type { Submitted } from "../submit.ts";

/** `retry` for a job of anybody; the new job is its owner's and keeps a raised tier. For admins. */
export async function retryAny(services: Services, { id }: { id: string }): Promise<Submitted> {
  if (!isId(id)) throw new AppError("not_found");
  const { jobs, users } = schema;
  const [owner] = await services.db
    .select({ userId: users.id, isAnonymous: users.isAnonymous })
    .from(jobs)
    .innerJoin(users, eq(users.id, jobs.ownerId))
    .where(eq(jobs.id, id));
  if (!owner) throw new AppError("not_found");
  const submitter = { userId: owner.userId, isGuest: owner.isAnonymous === true, isAdmin: true };
  return retry(services, { submitter, id });
}
