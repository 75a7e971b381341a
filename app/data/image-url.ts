export type Variant = "original" | "preview" | "thumbnail";

/** Where a picture's file is. */
export function imageUrl(id: string, variant: Variant): string {
  return `/api/v1/images/${id}/file?variant=${variant}`;
}

export function downloadUrl(id: string): string {
  return `${imageUrl(id, "original")}&download=1`;
}
