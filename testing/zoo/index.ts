import { otherFormats } from "./broken.ts";
import { damaged } from "./damaged.ts";
import { dear } from "./dear.ts";
import type { ZooEntry } from "./entry.ts";
import { metadata } from "./metadata.ts";
import { polyglots } from "./polyglots.ts";
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
