// Read on the server too, so this file must not become a client module.

export type Variant = "original" | "preview" | "thumbnail";

/** URL of one file of a picture. */
export function imageUrl(id: string, variant: Variant): string {
  return `/api/v1/images/${id}/file?variant=${variant}`;
}

/** URL of one file of a picture on a board, also of one that somebody else put there. */
export function boardFileUrl(boardId: string, imageId: string, variant: Variant): string {
  return `/api/v1/boards/${boardId}/images/${imageId}/file?variant=${variant}`;
}

export function downloadUrl(id: string): string {
  return `${imageUrl(id, "original")}&download=1`;
}

/** The original with the settings that it was made from. */
export function settingsDownloadUrl(id: string): string {
  return `${downloadUrl(id)}&settings=1`;
}

/** The originals of several pictures as a zip. */
export function zipUrl(ids: readonly string[]): string {
  return `/api/v1/images/zip?ids=${ids.join(",")}`;
}
