import type { PlacedBecause } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import type { Placed } from "./place.ts";

/** Why own machines run what a provider was wanted for. */
const hindered = "So it waits for the studio's own machines, which cost nothing.";

/** Sentences about the choice between own machines and providers; null where nothing has to be said. */
const notes: Readonly<
  Record<PlacedBecause, ((told: { readonly limit: string; readonly why: string }) => string) | null>
> = {
  own: null,
  no_own: null,
  own_unmeasured: () =>
    "The studio's own machines may be busy for a while, but no past runs say for how long, so nothing is bought.",
  own_away: null,
  overflow: ({ limit }) =>
    `The studio's own machines are busy for longer than ${limit}, so a provider makes it.`,
  waited: ({ limit }) => `It has waited for the studio's own machines for ${limit}, so a provider makes it.`,
  away: () => "The studio's own machine for this is away, so a provider makes it.",
  faster: () => "By the runs so far a provider is done sooner than the studio's own machines.",
  cap: ({ why }) => `${why} ${hindered}`,
  price_unknown: ({ why }) => `${why} ${hindered}`,
  too_dear: ({ why }) => `${why} ${hindered}`,
  cooling: ({ why }) => `${why} ${hindered}`,
  busy: ({ why }) => `${why} ${hindered}`,
  off: ({ why }) => `${why} ${hindered}`,
  refused: () => `The provider refused the content. ${hindered}`,
  failed: () => `None of the providers could make it. ${hindered}`,
};

/** What a user is told about the choice between own machines and providers; null: nothing. */
export function noteOf(
  { cloud }: Pick<Config, "cloud">,
  { placement, hindrance }: Pick<Placed, "placement" | "hindrance">,
): string | null {
  const note = placement.because && notes[placement.because];
  return note?.({ limit: `${cloud.overflowAfterS} s`, why: hindrance?.error.message ?? "" }) ?? null;
}
