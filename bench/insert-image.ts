import { schema } from "@atelier/server/db";
import { newId } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";

/** A picture's row is enough where nobody reads its file. */
export async function insertImage({ db }: Pick<Services, "db">, ownerId: string): Promise<string> {
  const id = newId();
  await db.insert(schema.images).values({
    id,
    ownerId,
    role: "upload",
    storageKey: `users/${ownerId}/${id}`,
    storedSha256: "0".repeat(64),
    mime: "image/png",
    widthPx: 64,
    heightPx: 64,
    sizeBytes: 1,
    thumbhash: "",
  });
  return id;
}
