import type { JobKind } from "@atelier/server/engines";

export const statusFilters = ["open", "completed", "failed", "cancelled"] as const;
export const kindFilters = [
  "outfit_change",
  "text_to_image",
  "edit",
  "inpaint",
  "upscale",
  "remove_background",
  "restore_faces",
] as const;

export interface JobFilters {
  readonly status?: (typeof statusFilters)[number];
  readonly kind?: JobKind;
}

/** Reads the filters of the address; what it does not know is left out. */
export function readJobFilters(params: URLSearchParams): JobFilters {
  return {
    status: statusFilters.find((status) => status === params.get("status")),
    kind: kindFilters.find((kind) => kind === params.get("kind")),
  };
}
