import type { schema } from "../db/index.ts";
import type { JobKind } from "../engines/index.ts";
import type { ImageView } from "./image-view.ts";

export type ImageRow = typeof schema.images.$inferSelect;

/** A row as people and programs see it; `kind` is that of the job that made it. */
export function toImageView(row: ImageRow, kind: JobKind | null): ImageView {
  return {
    id: row.id,
    role: row.role,
    mime: row.mime,
    widthPx: row.widthPx,
    heightPx: row.heightPx,
    sizeBytes: row.sizeBytes,
    thumbhash: row.thumbhash,
    title: row.title,
    starred: row.starred,
    jobId: row.jobId,
    kind,
    createdAt: row.createdAt.toISOString(),
  };
}
