import { randomBytes } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { createApiKey, createInvitation, createUser } from "@atelier/server/accounts";
import { schema } from "@atelier/server/db";
import { createEndpoint } from "@atelier/server/deliveries";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { deleteUser, setQuota, suspend } from "@atelier/server/users";
import { removeNodes } from "./nodes.ts";
import { removeSpending } from "./cloud.ts";

const { users, images, jobs, assistantConversations, webhookEndpoints } = schema;

/** The domain of all addresses of `seed`; names below `example` are reserved, and no server answers them. */
export const seedDomain = "seed.example";

/** Condition on `users`: made by this command. */
const isSeeded = sql`${users.email} like ${`%@${seedDomain}`}`;

const bytesPerMb = 1_048_576;

/** Whom the other files of this folder make things for. */
export interface People {
  /** An admin, who has something on every page. */
  readonly adminId: string;
  readonly password: string;
  /** Everybody who has jobs, the admin first. */
  readonly ownerIds: readonly string[];
  /** A webhook of the admin, switched off so that nothing is ever sent to it. */
  readonly endpointId: string;
}

/** Whether somebody whom this command did not make has pictures, jobs or talks here. */
export async function hasOthersData({ db }: Pick<Services, "db">): Promise<boolean> {
  const owned = [images, jobs, assistantConversations].map(
    (table) =>
      sql`exists (select from ${table} t join ${users} on ${users.id} = t.owner_id where not ${isSeeded})`,
  );
  const [row] = await db.execute<{ found: boolean }>(sql`select ${sql.join(owned, sql` or `)} as found`);
  return row?.found === true;
}

/** Deletes everybody whom this command made, with everything; also the workers and requests that it stored. Returns how many people. */
export async function removeSeeded(services: Services): Promise<number> {
  const { db } = services;
  const people = await db
    .select({ id: users.id, email: users.email, isGuest: users.isAnonymous })
    .from(users)
    .where(isSeeded);
  await removeNodes(services);
  for (const { id, email, isGuest } of people) {
    // No worker has them: their rows go at once, instead of waiting until somebody lets go.
    await db.delete(jobs).where(sql`${jobs.ownerId} = ${id} and ${jobs.endedAt} is null`);
    // `deleteUser` refuses the only admin. With shell access a new one can be created by the CLI.
    await db.update(users).set({ role: "user" }).where(eq(users.id, id));
    await deleteUser(services, { userId: id, adminId: null, confirm: isGuest === true ? "delete" : email });
  }
  await removeSpending(services);
  return people.length;
}

async function addAccount(
  services: Services,
  { name, password, isAdmin = false, days }: Person & { readonly password: string },
): Promise<string> {
  const email = `${name.toLowerCase()}@${seedDomain}`;
  const { id } = await createUser(services, { email, password, isAdmin });
  const createdAt = sql`now() - ${days} * interval '1 day'`;
  await services.db.update(users).set({ name, createdAt }).where(eq(users.id, id));
  return id;
}

interface Person {
  readonly name: string;
  readonly isAdmin?: boolean;
  /** How long ago the account was made. */
  readonly days: number;
}

/** Makes an admin, two users, a suspended one and a guest, with what a page of settings can show. */
export async function addPeople(services: Services): Promise<People> {
  const { db } = services;
  const password = randomBytes(9).toString("base64url");
  const add = (person: Person) => addAccount(services, { ...person, password });
  const adminId = await add({ name: "Ada", isAdmin: true, days: 40 });
  const benId = await add({ name: "Ben", days: 25 });
  const claraId = await add({ name: "Clara", days: 12 });
  const doraId = await add({ name: "Dora", days: 9 });
  await setQuota(services, { userId: claraId, adminId: null, quotaBytes: 500 * bytesPerMb });
  await suspend(services, { userId: doraId, adminId: null });
  const guestId = newId();
  const email = `${guestId}@${seedDomain}`;
  await db.insert(users).values({ id: guestId, name: "Guest", email, isAnonymous: true });
  await createApiKey(services, { userId: adminId, name: "scripts", isTold: false });
  await createInvitation(services, { createdBy: adminId, days: 7 });
  const { id: endpointId } = await createEndpoint(services, {
    ownerId: adminId,
    url: `https://hooks.${seedDomain}/atelier`,
  });
  const disabledReason = "Switched off by `atelier seed`: nobody answers there.";
  await db
    .update(webhookEndpoints)
    .set({ isEnabled: false, disabledReason })
    .where(eq(webhookEndpoints.id, endpointId));
  return { adminId, password, ownerIds: [adminId, benId, claraId, guestId], endpointId };
}
