import { eq } from "drizzle-orm";
import { lockTopic, schema, type Tx } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Caller, isBanned } from "./caller.ts";

const { clientUsers, users } = schema;

/**
 * The user that an admin's key acts for: one user of the studio for each name, whichever admin's key it is, made when it
 * is needed first. Throws `forbidden` when it is suspended.
 */
export async function actAs({ db }: Pick<Services, "db">, name: string): Promise<Caller> {
  const user = (await find(db, name)) ?? (await db.transaction((tx) => make(tx, name)));
  if (isBanned(user)) throw new AppError("forbidden", "This user is suspended.");
  return { userId: user.id, isGuest: false, isAdmin: false, via: "api_key" };
}

/** `actAs` for reading: null when the name was never used. */
export async function findClient({ db }: Pick<Services, "db">, name: string): Promise<Caller | null> {
  return (await find(db, name)) ? actAs({ db }, name) : null;
}

async function find(db: Pick<Tx, "select">, name: string) {
  const [user] = await db
    .select({ id: users.id, banned: users.banned, banExpires: users.banExpires })
    .from(clientUsers)
    .innerJoin(users, eq(users.id, clientUsers.userId))
    .where(eq(clientUsers.name, name));
  return user;
}

/** The name is stored in `client_users`, so that no text of a client can be taken for an e-mail address of a person. */
async function make(tx: Tx, name: string) {
  // Two first requests at once: the second waits here and then finds the user.
  await lockTopic(tx, "client user", name);
  const known = await find(tx, name);
  if (known) return known;
  const id = newId();
  // The address receives no mail, and there is no password.
  await tx.insert(users).values({ id, name, email: `client-${id}@atelier.invalid`, emailVerified: true });
  await tx.insert(clientUsers).values({ userId: id, name });
  return { id, banned: false, banExpires: null };
}

/** Whether a user exists for a client of an admin's key alone. */
export async function isClientUser({ db }: Pick<Services, "db">, userId: string): Promise<boolean> {
  return (await db.$count(clientUsers, eq(clientUsers.userId, userId))) > 0;
}
