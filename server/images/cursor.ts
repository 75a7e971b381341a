import { AppError, isId } from "../platform/index.ts";

/** Where a list goes on: after this id, newest first. Opaque to callers. */
export function encodeCursor(id: string): string {
  return Buffer.from(id).toString("base64url");
}

/** Throws `bad_request` for anything that `encodeCursor` did not make. */
export function decodeCursor(cursor: string): string {
  const id = Buffer.from(cursor, "base64url").toString();
  if (!isId(id)) throw new AppError("bad_request", "The cursor is not one of ours.");
  return id;
}
