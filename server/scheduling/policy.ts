import { eq } from "drizzle-orm";
import { type CloudPolicy, type Db, schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import type { Config } from "../platform/index.ts";

/**
 * When a user's job of a kind may go to a provider: as the user chose, else as the configuration says. A studio that uses
 * no provider for the kind does so for nobody.
 */
export async function readCloudPolicy(
  db: Db,
  { cloud }: Pick<Config, "cloud">,
  { userId, kind }: { readonly userId: string; readonly kind: JobKind },
): Promise<CloudPolicy> {
  const studio = cloud.policies[kind] ?? cloud.policy;
  if (studio === "own_only") return studio;
  return (await readUserPolicy(db, userId)) ?? studio;
}

/** What the user chose; null where the studio's policy applies. */
export async function readUserPolicy(db: Db, userId: string): Promise<CloudPolicy | null> {
  const { id, cloudPolicy } = schema.users;
  const [row] = await db.select({ cloudPolicy }).from(schema.users).where(eq(id, userId));
  return row?.cloudPolicy ?? null;
}

export async function setUserPolicy(db: Db, userId: string, policy: CloudPolicy | null): Promise<void> {
  await db.update(schema.users).set({ cloudPolicy: policy }).where(eq(schema.users.id, userId));
}

/** The model that the user's programs chose, as they name it; null: the studio chooses. */
export async function readProgramModel(db: Db, userId: string): Promise<string | null> {
  const { id, programModel } = schema.users;
  const [row] = await db.select({ programModel }).from(schema.users).where(eq(id, userId));
  return row?.programModel ?? null;
}

export async function setProgramModel(db: Db, userId: string, name: string | null): Promise<void> {
  await db.update(schema.users).set({ programModel: name }).where(eq(schema.users.id, userId));
}
