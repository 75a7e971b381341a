import type { JobKind } from "@atelier/server/engines";
import { jobKindOrder as allKinds } from "../../jobs/job-kinds.ts";

interface Wanted {
  readonly slots: Record<string, number>;
  readonly kinds?: JobKind[];
}

/** Settings to store for a node; with every kind chosen it is not narrowed at all. */
export function wantedSettings(slots: Record<string, number>, kinds: readonly JobKind[]): Wanted {
  const isNarrowed = allKinds.some((kind) => !kinds.includes(kind));
  return { slots, ...(isNarrowed ? { kinds: [...kinds] } : {}) };
}
