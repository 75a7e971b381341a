import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { sql } from "drizzle-orm";
import { suspendedUsers } from "../accounts/plain.ts";
import { schema } from "../db/index.ts";
import { AppError, isId, keptBy } from "../platform/index.ts";
import type { Services } from "../services.ts";

/** Of addresses that are answers to programs, which fetch the picture at once or show it for a while. */
const signedHours = 1;
/** Of a SHA-256 in base64url. */
const signatureLength = 43;
const nowS = () => Math.floor(Date.now() / 1_000);

const keyOf = keptBy(({ env }: Services): Buffer => {
  if (env.AUTH_SECRET === undefined) throw new AppError("internal", "AUTH_SECRET is not set.");
  return Buffer.from(hkdfSync("sha256", env.AUTH_SECRET, "", "atelier signed pictures 1", 32));
});

function signatureOf(services: Services, signed: string): Buffer {
  return createHmac("sha256", keyOf(services)).update(signed).digest();
}

/**
 * A text with which anybody may read this picture for an hour. `note` comes back with it and cannot be changed; it is the end of
 * the text, where programs look for the type of a file.
 */
export function signPicture(services: Services, imageId: string, note: string): string {
  const endsAtS = nowS() + signedHours * 3_600;
  const signature = signatureOf(services, `${imageId}.${endsAtS}.${note}`).toString("base64url");
  return `${imageId}.${endsAtS}.${signature}.${note}`;
}

/** The picture of a signed text, with its owner. Throws `not_found`, also when its time is over or its owner is suspended. */
export async function readSigned(
  services: Services,
  text: string,
): Promise<{ readonly id: string; readonly ownerId: string; readonly note: string }> {
  const [id = "", endsAtS = "", ...rest] = text.split(".");
  // Before 0.1 the note came first: an address that was given out then still works, also one of an older process beside this one.
  const [signature = "", note = ""] = rest[0]?.length === signatureLength ? rest : rest.toReversed();
  const given = Buffer.from(signature, "base64url");
  const right = signatureOf(services, `${id}.${endsAtS}.${note}`);
  const isRight = given.length === right.length && timingSafeEqual(given, right);
  if (!isRight || !(Number(endsAtS) > nowS()) || !isId(id)) throw new AppError("not_found");
  const [row] = await services.db.execute<{ ownerId: string }>(sql`
    select i.owner_id as "ownerId" from ${schema.images} i
    where i.id = ${id} and i.deleted_at is null and i.owner_id not in (${suspendedUsers})`);
  if (!row) throw new AppError("not_found");
  return { id, ownerId: row.ownerId, note };
}
