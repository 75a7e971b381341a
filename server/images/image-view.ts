import type { ImageRole } from "../db/index.ts";
import type { JobKind } from "../engines/index.ts";

/** A picture in a list. Its files: `/api/v1/images/{id}/file?variant=original|preview|thumbnail`. */
export interface ImageView {
  readonly id: string;
  readonly role: ImageRole;
  readonly mime: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly sizeBytes: number;
  /** Base64. */
  readonly thumbhash: string;
  readonly title: string;
  readonly starred: boolean;
  /** The job that made it and that job's kind; null for uploads. Results are marked "AI" on screen. */
  readonly jobId: string | null;
  readonly kind: JobKind | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}
