import type { Agreed } from "../db/index.ts";
import type { Config } from "../platform/index.ts";
import { isWithinUsd } from "./spend.ts";

/**
 * Whether a provider may be called at this price (US dollars, null: unknown) for a job with these bounds; null: without
 * any. The database checks the same where it stores the intent of a call (`is_agreed`), for workers of an older version.
 */
export function isAgreed(agreed: Agreed | null, priceUsd: number | null): boolean {
  if (agreed === null) return true;
  if (agreed.ownOnly) return false;
  return priceUsd === null ? agreed.unknownPrice : isWithinUsd(priceUsd, agreed.maxPriceUsd);
}

/** Whether an offer may be bought: within the bounds, and at an unknown price only with the person's own maximum. */
export function mayBuy(agreed: Agreed | null, priceUsd: number | null): boolean {
  return (agreed !== null || priceUsd !== null) && isAgreed(agreed, priceUsd);
}

/**
 * What a call counts against the caps before its cost is known; null: as any unknown price does. A person's own maximum
 * for an unknown price counts, but never less than what is assumed of all such prices: a small one must not pass the caps.
 */
export function countedPriceUsd(
  { cloud }: Pick<Config, "cloud">,
  agreed: Agreed | null,
  priceUsd: number | null,
): number | null {
  if (priceUsd !== null || !agreed?.unknownPrice) return priceUsd;
  return Math.max(agreed.maxPriceUsd, cloud.assumedPriceUsd);
}
