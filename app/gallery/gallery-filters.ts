import type { JobKind } from "@atelier/server/engines";
import { readKind } from "../jobs/job-kinds.ts";

export const roleFilters = ["upload", "result"] as const;

export interface GalleryFilters {
  readonly role?: (typeof roleFilters)[number];
  readonly kind?: JobKind;
  readonly starred?: boolean;
  readonly search?: string;
}

/** Reads the filters of the address; what it does not know is left out. */
export function readGalleryFilters(params: URLSearchParams): GalleryFilters {
  const search = params.get("search") ?? "";
  return {
    role: roleFilters.find((role) => role === params.get("role")),
    kind: readKind(params.get("kind")),
    starred: params.get("starred") === "1" ? true : undefined,
    search: search === "" ? undefined : search,
  };
}

export function isFiltered(filters: GalleryFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}
