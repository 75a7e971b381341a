import { titleOfKind } from "@atelier/server/deliveries";
import type { JobKind } from "@atelier/server/engines";
import { ingest } from "@atelier/server/images";
import { estimate, parseSubmit, submit } from "@atelier/server/jobs";
import { toAppError } from "@atelier/server/platform";
import { titleOfProvider } from "@atelier/server/providers";
import {
  addText,
  endRequest,
  type LinkedUser,
  offerMinutes,
  offerPrice,
  type PictureRequest,
  showJob,
  TelegramError,
} from "@atelier/server/telegram";
import type { Bot, Buttons } from "./bot.ts";

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
  /** The price that the person agreed to, US dollars; null: an unknown one. Without it only what is free is started. */
  readonly agreedUsd?: number | null;
}

/** `asks`: the job would cost more than was agreed to, and the text asks for it. */
export type Started =
  | { readonly kind: "started" }
  | { readonly kind: "asks" | "refused"; readonly text: string; readonly buttons?: Buttons };

const texts = {
  tooLarge: "The picture is larger than 20 MB, which is the most that bots can read. Use the website for it.",
  unread: "Telegram did not give the picture. Send it again.",
};

/**
 * Takes in the pictures and submits the job, or asks for its price. The key makes it one job however often this runs: the
 * same bytes are the same picture of the account, so the request is the same as well.
 */
export async function start(bot: Bot, user: LinkedUser, wish: Wish): Promise<Started> {
  const { services } = bot;
  const { chatId, request, task, key: idempotencyKey, agreedUsd } = wish;
  try {
    const inputs = await takeInAll(bot, user, wish);
    const asked = parseSubmit({ ...task, inputs });
    const quote = await estimate(services, asked, user);
    if (!quote.isPossible) return { kind: "refused", text: quote.reason };
    const { cloud } = quote;
    if (cloud && isDearer(cloud.priceUsd, agreedUsd)) return await askPrice(bot, wish, { user, cloud });
    // The submit chooses again, and must not choose what was not agreed to.
    const bound = cloud ? { model: cloud.model } : { ownOnly: true };
    const job = await submit(services, { ...asked, ...bound }, { submitter: user, idempotencyKey, asked });
    await showJob(services, { jobId: job.id, chatId });
    if (request) await endRequest(services, request.id);
    return { kind: "started" };
  } catch (error) {
    return { kind: "refused", text: sentenceOf(error) };
  }
}

function isDearer(priceUsd: number | null, agreedUsd: number | null | undefined): boolean {
  if (priceUsd === 0) return false;
  if (priceUsd === null) return agreedUsd !== null;
  return agreedUsd === undefined || agreedUsd === null || priceUsd > agreedUsd;
}

interface Cloud {
  readonly title: string;
  readonly provider: string;
  readonly priceUsd: number | null;
}

async function askPrice(
  { services }: Bot,
  { chatId, request, task, key }: Wish,
  { user: { userId }, cloud }: { readonly user: LinkedUser; readonly cloud: Cloud },
): Promise<Started> {
  const { title, provider, priceUsd } = cloud;
  const { prompt } = task.params;
  const row = request ?? (await addText(services, { userId, chatId, text: String(prompt) }));
  const offer = { ...task, key, priceUsd };
  await offerPrice(services, row, offer);
  const price = priceUsd === null ? "Its price is not known." : `It costs about ${dollars.format(priceUsd)}.`;
  const text = `${titleOfKind(task.kind)} would be made by ${title} at ${titleOfProvider(provider)}, not on the studio's own machines. ${price} The question holds for ${offerMinutes} minutes.`;
  return { kind: "asks", text, buttons: priceButtons(row, offer) };
}

const dollars = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  maximumFractionDigits: 3,
});

/** The buttons below the question for a price. */
export function priceButtons(
  { id }: Pick<PictureRequest, "id">,
  { priceUsd }: Pick<Cloud, "priceUsd">,
): Buttons {
  const label = priceUsd === null ? "Make it, price unknown" : `Make it for ${dollars.format(priceUsd)}`;
  return [[{ text: label, data: `pay:${id}` }], [{ text: "Cancel", data: `drop:${id}` }]];
}

async function takeInAll(
  bot: Bot,
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
  { services, telegram, signal }: Bot,
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
function sentenceOf(error: unknown): string {
  if (error instanceof TelegramError) return error.kind === "size" ? texts.tooLarge : texts.unread;
  const { code, message } = toAppError(error);
  if (code === "internal" || code === "database_unavailable") throw error;
  return message;
}
