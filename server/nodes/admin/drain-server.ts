import { eq } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import { AppError } from "../../platform/index.ts";
import type { Services } from "../../services/index.ts";

const { engineServers, serverDrains } = schema;

/** No node gives the server anything new; what it runs goes on. Idempotent. Throws `not_found` for a server that no node knows. */
export async function drainServer(
  { db }: Pick<Services, "db">,
  { url, adminId }: { url: string; adminId: string },
): Promise<void> {
  const [known] = await db
    .select({ url: engineServers.url })
    .from(engineServers)
    .where(eq(engineServers.url, url))
    .limit(1);
  if (!known) throw new AppError("not_found");
  await db.insert(serverDrains).values({ url, requestedBy: adminId }).onConflictDoNothing();
}

/** The nodes may give the server jobs again. Idempotent. */
export async function resumeServer({ db }: Pick<Services, "db">, { url }: { url: string }): Promise<void> {
  await db.delete(serverDrains).where(eq(serverDrains.url, url));
}
