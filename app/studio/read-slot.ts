import type { Upload } from "../uploads/store.ts";

interface Holding {
  /** The stored picture of the slot. */
  readonly storedId: string | null;
  /** It was deleted since. */
  readonly isGone: boolean;
  readonly upload: Pick<Upload, "state"> | undefined;
}

interface Reading {
  /** The picture that lies there; null while another is on its way up and hides it. */
  readonly imageId: string | null;
  /** Whether the next picture may come here without taking another one's place. */
  readonly isFree: boolean;
}

/** What a slot holds: an upload counts as its picture, one that failed leaves the place free. */
export function readSlot({ storedId, isGone, upload }: Holding): Reading {
  if (upload !== undefined) return { imageId: null, isFree: upload.state === "failed" };
  const imageId = isGone ? null : storedId;
  return { imageId, isFree: imageId === null };
}
