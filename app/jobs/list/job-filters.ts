import type { JobKind } from "@atelier/server/engines";
import { readKind } from "../job-kinds.ts";

export const statusFilters = ["open", "completed", "failed", "cancelled"] as const;

export interface JobFilters {
  readonly status?: (typeof statusFilters)[number];
  readonly kind?: JobKind;
}

/** Reads the filters of the address; what it does not know is left out. */
export function readJobFilters(params: URLSearchParams): JobFilters {
  return {
    status: statusFilters.find((status) => status === params.get("status")),
    kind: readKind(params.get("kind")),
  };
}
