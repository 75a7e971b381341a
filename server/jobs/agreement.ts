import { z } from "zod";
import type { Agreed, Db } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import {
  type CloudModel,
  dollars,
  mayBuy,
  type ModelOffer,
  offersFor,
  readChain,
  titleOfProvider,
} from "../providers/index.ts";
import { liveProviders, type Quote } from "../scheduling/index.ts";

/** No picture of any provider costs so much; a slip of the keyboard may. */
const highestUsd = 1_000;

/** The bounds that a request names: what would cost more, or leave the house, is refused and never bought. */
export const agreedSchema = z
  .strictObject({
    maxPriceUsd: z
      .number()
      .min(0)
      .max(highestUsd)
      .describe("The most that one picture may cost, US dollars; 0: only what is free."),
    ownOnly: z
      .boolean()
      .default(false)
      .describe("It was shown that the studio's own machines make it, so the pictures must not leave them."),
    unknownPrice: z
      .boolean()
      .default(false)
      .describe(
        "The model may be one whose price no source states. `maxPriceUsd` is then your own maximum, above 0, and counts against the caps; the studio cannot hold the provider to it.",
      ),
  })
  .refine(({ maxPriceUsd, unknownPrice }) => !unknownPrice || maxPriceUsd > 0, {
    path: ["maxPriceUsd"],
    error: "must be above 0 where the price is unknown",
  })
  .meta({
    not: {
      properties: { unknownPrice: { const: true }, maxPriceUsd: { const: 0 } },
      required: ["unknownPrice", "maxPriceUsd"],
    },
  });

/** What a provider would charge for a request now. */
export interface CloudQuote {
  readonly model: string;
  readonly title: string;
  /** The provider that is tried first. */
  readonly provider: string;
  /** Its price, US dollars; null when no source states it. */
  readonly priceUsd: number | null;
  /** The highest price of the providers that may be tried after it; null where the first one's is unknown. */
  readonly maxPriceUsd: number | null;
}

/** A model with the params that a run of it gets. */
interface Order {
  readonly model: CloudModel;
  readonly params: Readonly<Record<string, unknown>>;
}

/** The offers that would be tried, in their order: those of live providers where there are any. */
async function readOffers(db: Db, { model, params }: Order): Promise<readonly ModelOffer[]> {
  const [chain, held] = await Promise.all([readChain(db, model), liveProviders(db)]);
  const able = offersFor(chain, params);
  const live = able.filter(({ provider }) => held.has(provider));
  return live.length > 0 ? live : able;
}

export async function readCloudQuote(db: Db, order: Order): Promise<CloudQuote | null> {
  return quoteOf(order.model, await readOffers(db, order));
}

/** Of offers with a price the first one, since what has none is bought only by a person's own maximum. */
function quoteOf({ id, title }: CloudModel, offers: readonly ModelOffer[]): CloudQuote | null {
  const prices = offers.flatMap(({ priceUsd }) => (priceUsd === null ? [] : [priceUsd]));
  const first = offers.find(({ priceUsd }) => priceUsd !== null) ?? offers[0];
  if (!first) return null;
  const { provider, priceUsd } = first;
  const maxPriceUsd = priceUsd === null ? null : Math.max(...prices);
  return { model: id, title, provider, priceUsd, maxPriceUsd };
}

/** What a submit sends back to get what was shown and nothing dearer; null where the person has to name a maximum. */
export function agreementTo(cloud: CloudQuote | null): Agreed | null {
  if (cloud === null) return { maxPriceUsd: 0, ownOnly: true, unknownPrice: false };
  const { maxPriceUsd } = cloud;
  return maxPriceUsd === null ? null : { maxPriceUsd, ownOnly: false, unknownPrice: false };
}

/** Throws `not_agreed`, with the place and price of now, where only what was not agreed to could run the request. */
export async function requireAgreed(
  db: Db,
  agreed: Agreed | undefined,
  { candidate: { model }, hindrance }: Quote["placed"],
  params: Order["params"],
): Promise<void> {
  if (!model || (!agreed && !hindrance)) return;
  const offers = await readOffers(db, { model, params });
  const cloud = quoteOf(model, offers);
  if (!cloud || offers.some(({ priceUsd }) => mayBuy(agreed ?? null, priceUsd))) return;
  throw new AppError("not_agreed", disagreement(cloud, agreed), {
    details: { agreed: agreed ?? null, cloud, wouldAgree: agreementTo(cloud) },
  });
}

function disagreement({ title, provider, priceUsd }: CloudQuote, agreed: Agreed | undefined): string {
  const price = priceUsd === null ? "at a price that is not known" : `for ${dollars(priceUsd)}`;
  const now = `It would be made by ${title} at ${titleOfProvider(provider)} ${price} now`;
  const terms = agreed ? `, but ${termsOf(agreed)}` : "";
  return `${now}${terms}. Nothing was started. ${adviceOf(priceUsd)}`;
}

function termsOf({ ownOnly, maxPriceUsd }: Agreed): string {
  if (ownOnly) return "it was agreed that it stays on the studio's own machines";
  if (maxPriceUsd === 0) return "it was agreed that it costs nothing";
  return `it was agreed that it costs at most ${dollars(maxPriceUsd)}`;
}

function adviceOf(priceUsd: number | null): string {
  return priceUsd === null
    ? "Name the most that you would pay, or keep it on the studio's own machines."
    : "Agree to the new price, or keep it on the studio's own machines.";
}
