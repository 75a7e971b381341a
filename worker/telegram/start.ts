import { createHash } from "node:crypto";
import type { JobKind } from "@atelier/server/engines";
import { ingest } from "@atelier/server/images";
import { estimate, parseSubmit, submit, type SubmitInput, type SubmitRequest } from "@atelier/server/jobs";
import { isAppError, toAppError } from "@atelier/server/platform";
import { titleOfProvider } from "@atelier/server/providers";
import {
  addText,
  endRequest,
  type LinkedUser,
  offerMinutes,
  offerPrice,
  type PictureRequest,
  type PriceOffer,
  showJob,
  TelegramError,
} from "@atelier/server/telegram";
import { sentenceOf, type Words } from "@atelier/server/words";
import type { Buttons, Speaker } from "./bot.ts";

/** What a job is to do with the pictures of its request. */
export interface Task {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A job that a person wishes for. */
export interface Wish {
  readonly chatId: string;
  /** Holds its pictures; null for a text that was not asked about. */
  readonly request: PictureRequest | null;
  readonly task: Task;
  /** Makes it one job however often it is started. */
  readonly key: string;
  /** What the person agreed to pay. Without it only what is free is started. */
  readonly agreed?: Agreed;
  /** The person wants it on the studio's own machines. */
  readonly ownOnly?: boolean;
}

type Agreed = NonNullable<SubmitInput["agreed"]>;

/** `asks`: the job would cost more than was agreed to, and the text asks for it. */
export type Started =
  | { readonly kind: "started" }
  | { readonly kind: "asks" | "refused"; readonly text: string; readonly buttons?: Buttons };

/**
 * Takes in the pictures and submits the job, or asks for its price. The key makes it one job however often this runs: the
 * same bytes are the same picture of the account, so the request is the same as well.
 */
export async function start(bot: Speaker, user: LinkedUser, wish: Wish): Promise<Started> {
  try {
    const inputs = await takeInAll(bot, user, wish);
    const asked = parseSubmit({ ...wish.task, inputs });
    return await submitAgreed(bot, wish, { user, asked }).catch((error: unknown) => {
      const cloud = isAppError(error) && error.code === "not_agreed" ? error.details?.["cloud"] : null;
      if (!cloud) throw error;
      // Safe: the refusal of a submit names the place and price of now in this shape.
      return askPrice(bot, wish, { user, asked, cloud: cloud as Cloud });
    });
  } catch (error) {
    return { kind: "refused", text: replyToRefusal(bot.words, error) };
  }
}

interface Asking {
  readonly user: LinkedUser;
  readonly asked: SubmitRequest;
}

async function submitAgreed(bot: Speaker, wish: Wish, { user, asked }: Asking): Promise<Started> {
  const { services } = bot;
  const { chatId, request, key: ownKey, ownOnly = false } = wish;
  const wanted = { ...asked, ownOnly };
  const quote = await estimate(services, wanted, user);
  if (!quote.isPossible) return { kind: "refused", text: quote.reason };
  const { cloud, priceUsd, note } = quote;
  // Not what dearer providers behind the first one ask.
  const free = priceUsd === 0 && quote.agreed ? { ...quote.agreed, maxPriceUsd: 0 } : undefined;
  const agreed = wish.agreed ?? free;
  if (!agreed && cloud) return askPrice(bot, wish, { user, asked, cloud, note });
  const job = await submit(services, { ...wanted, agreed }, { submitter: user, ownKey, asked });
  await showJob(services, { jobId: job.id, chatId });
  if (request) await endRequest(services, request.id);
  return { kind: "started" };
}

interface Cloud {
  readonly title: string;
  readonly provider: string;
  readonly priceUsd: number | null;
  readonly maxPriceUsd: number | null;
}

interface Question extends Asking {
  readonly cloud: Cloud;
  /** Why a provider, in a sentence. */
  readonly note?: string | null;
}

async function askPrice(
  { services, words }: Speaker,
  { chatId, request, task, key }: Wish,
  { user, cloud, asked, note }: Question,
): Promise<Started> {
  const { title, provider, priceUsd, maxPriceUsd } = cloud;
  const { prompt } = task.params;
  const { userId } = user;
  const row = request ?? (await addText(services, { userId, chatId, text: String(prompt) }));
  const home = await estimate(services, { ...asked, ownOnly: true }, user);
  const offer = { ...task, key, priceUsd, maxPriceUsd, hasHome: home.isPossible };
  await offerPrice(services, row, offer);
  const { t } = words;
  const where = t("bot.price.where", {
    kind: t(`jobs.kinds.${task.kind}`),
    model: title,
    provider: titleOfProvider(provider),
  });
  const holds = t("bot.price.holds", { minutes: offerMinutes });
  const text = [where, ...(note ? [note] : []), priceText(words, cloud), holds].join(" ");
  return { kind: "asks", text, buttons: priceButtons(words, row, offer) };
}

function priceText({ t, format }: Words, { priceUsd, maxPriceUsd }: Cloud): string {
  if (priceUsd === null) return t("bot.price.unknown");
  const price = format.number(priceUsd, dollars);
  return maxPriceUsd === null || maxPriceUsd <= priceUsd
    ? t("bot.price.about", { price })
    : t("bot.price.aboutAtMost", { price, max: format.number(maxPriceUsd, dollars) });
}

const dollars = { style: "currency", currency: "USD", maximumFractionDigits: 3 } as const;

/** What a person may choose from where no source states the price, US dollars. */
const maxima = [0.05, 0.2, 1] as const;

type Offer = Pick<PriceOffer, "kind" | "priceUsd" | "maxPriceUsd" | "hasHome">;

/** Names an offer on its buttons: a press may arrive when the bot has asked about another one since. */
function markOf({ kind, priceUsd, maxPriceUsd = null }: Offer): string {
  const terms = JSON.stringify([kind, priceUsd, maxPriceUsd]);
  return createHash("sha256").update(terms).digest("base64url").slice(0, 8);
}

/** The buttons below the question for a price. */
export function priceButtons(
  { t, format }: Words,
  { id }: Pick<PictureRequest, "id">,
  offer: Offer,
): Buttons {
  const { priceUsd, maxPriceUsd, hasHome = false } = offer;
  const data = `pay:${id}:${markOf(offer)}`;
  const pays =
    priceUsd === null
      ? maxima.map((usd) => ({
          text: t("bot.price.atMost", { price: format.number(usd, dollars) }),
          data: `${data}:${usd}`,
        }))
      : [
          {
            text: t("bot.price.makeFor", { price: format.number(maxPriceUsd ?? priceUsd, dollars) }),
            data,
          },
        ];
  const home = hasHome ? [[{ text: t("bot.price.ownMachines"), data: `own:${id}` }]] : [];
  return [pays, ...home, [{ text: t("bot.cancel"), data: `drop:${id}` }]];
}

/** What a press on one of the buttons agrees to; null for a press on those of another offer, and one that names no maximum. */
export function agreementOf(offer: Offer, [mark, named]: readonly string[]): Agreed | null {
  const { priceUsd, maxPriceUsd } = offer;
  if (mark !== markOf(offer)) return null;
  if (priceUsd !== null) return { maxPriceUsd: maxPriceUsd ?? priceUsd };
  const maximum = maxima.find((usd) => String(usd) === named);
  return maximum === undefined ? null : { maxPriceUsd: maximum, unknownPrice: true };
}

async function takeInAll(
  bot: Speaker,
  user: LinkedUser,
  { request, task }: Wish,
): Promise<Record<string, string>> {
  const inputs: Record<string, string> = {};
  if (task.kind === "text_to_image" || !request) return inputs;
  const roles = task.kind === "outfit_change" ? ["person", "garment"] : ["image"];
  for (const [at, role] of roles.entries()) inputs[role] = await takeIn(bot, user, request.photos[at]);
  return inputs;
}

async function takeIn(
  { services, telegram, signal }: Speaker,
  { userId: ownerId }: LinkedUser,
  photo: PictureRequest["photos"][number] | undefined,
): Promise<string> {
  if (!photo) throw new Error("the request has fewer pictures than its task needs");
  const bytes = await telegram.download(photo.fileId, signal);
  const name = photo.name ?? undefined;
  const image = await ingest(services, { ownerId, role: "upload", bytes, name, signal });
  return image.id;
}

/** The product's own sentence for a refusal; throws what is none, so that the update is tried again. */
function replyToRefusal(words: Words, error: unknown): string {
  if (error instanceof TelegramError) return words.t(error.kind === "size" ? "bot.tooLarge" : "bot.unread");
  const { code, message } = toAppError(error);
  if (code === "internal" || code === "database_unavailable") throw error;
  return sentenceOf(words, { code, message });
}
