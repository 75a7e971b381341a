import { createHash, timingSafeEqual } from "node:crypto";
import { AppError } from "@atelier/server/platform";

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Throws `unauthorized` unless the header bears the token. Digests are compared, so that not even the length shows. */
export function checkToken(authorization: string | undefined, token: string): void {
  const [, given = ""] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  if (!timingSafeEqual(digest(given), digest(token)))
    throw new AppError("unauthorized", "Send the worker's token as a bearer.");
}
