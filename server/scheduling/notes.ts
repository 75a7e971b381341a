import type { PlacedBecause } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import { currentWords, sentenceOf, type Words } from "../words.ts";
import type { Placed } from "./place.ts";

interface Told {
  /** How long own machines may be busy before a provider is asked. */
  readonly limit: string;
  readonly why: string;
}

/** Why own machines run what a provider was wanted for. */
const hindered = ({ t }: Words, { why }: Told) => t("reasons.hindered", { why });

/** Sentences about the choice between own machines and providers; null where nothing has to be said. */
const notes: Readonly<Record<PlacedBecause, ((words: Words, told: Told) => string) | null>> = {
  own: null,
  no_own: null,
  own_unmeasured: ({ t }) => t("reasons.ownUnmeasured"),
  own_away: null,
  overflow: ({ t }, { limit }) => t("reasons.overflow", { limit }),
  waited: ({ t }, { limit }) => t("reasons.waited", { limit }),
  away: ({ t }) => t("reasons.away"),
  faster: ({ t }) => t("reasons.faster"),
  cap: hindered,
  price_unknown: hindered,
  too_dear: hindered,
  cooling: hindered,
  busy: hindered,
  off: hindered,
  refused: (words, told) => hindered(words, { ...told, why: words.t("reasons.refused") }),
  failed: (words, told) => hindered(words, { ...told, why: words.t("reasons.failed") }),
};

/** What a user is told about the choice between own machines and providers; null: nothing. */
export function noteOf(
  { cloud }: Pick<Config, "cloud">,
  { placement, hindrance }: Pick<Placed, "placement" | "hindrance">,
): string | null {
  const note = placement.because && notes[placement.because];
  const words = currentWords();
  const limit = words.t("reasons.seconds", { count: cloud.overflowAfterS });
  return note?.(words, { limit, why: hindrance ? sentenceOf(words, hindrance.error) : "" }) ?? null;
}
