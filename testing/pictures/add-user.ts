import { schema } from "@atelier/server/db";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";

/** Adds a user with nothing but an id; returns the id. */
export function addUser(services: Pick<Services, "db">): Promise<string> {
  return insert(services, false);
}

export function addGuest(services: Pick<Services, "db">): Promise<string> {
  return insert(services, true);
}

async function insert({ db }: Pick<Services, "db">, isAnonymous: boolean): Promise<string> {
  const id = newId();
  await db.insert(schema.users).values({ id, name: "Test", email: `${id}@test.invalid`, isAnonymous });
  return id;
}
