import { schema } from "@atelier/server/db";
import type { Variant } from "@atelier/server/images";
import type { Services } from "@atelier/server/services";
import { eq } from "drizzle-orm";

type Stored = Pick<Services, "db" | "disk">;

/** The row of a picture; throws when there is none. */
export async function readRow({ db }: Pick<Stored, "db">, id: string) {
  const [row] = await db.select().from(schema.images).where(eq(schema.images.id, id));
  if (!row) throw new Error(`there is no picture ${id}`);
  return row;
}

export function rowsOf({ db }: Pick<Stored, "db">, ownerId: string) {
  return db.select().from(schema.images).where(eq(schema.images.ownerId, ownerId));
}

/** The bytes of one file of a picture, found by its name in the store. */
export async function readFileOf(services: Stored, id: string, variant: Variant): Promise<Buffer> {
  const { storageKey } = await readRow(services, id);
  const { objects } = await services.disk.listAll(storageKey);
  const found = [...objects].find((object) => object.name.startsWith(`${variant}.`));
  if (!found?.isFile) throw new Error(`picture ${id} has no ${variant}`);
  return Buffer.from(await services.disk.getBytes(found.key));
}
