import { damaged, otherFormats, polyglots } from "./broken.ts";
import { dear } from "./dear.ts";
import type { ZooEntry } from "./entry.ts";
import { metadata } from "./metadata.ts";
import { sizes } from "./sizes.ts";

export type { Outcome, ZooEntry } from "./entry.ts";

/** Files that people with bad intentions send, and valid ones that are dear. */
export const zoo: readonly ZooEntry[] = [
  ...sizes,
  ...polyglots,
  ...otherFormats,
  ...damaged,
  ...metadata,
  ...dear,
];
