import { buffer } from "node:stream/consumers";
import sharp from "sharp";
import {
  type Channel,
  DeliveryError,
  linkTo,
  type MessageJob,
  type OwedDelivery,
  readMessageJob,
} from "../deliveries/index.ts";
import { maxOutputPixels } from "../engines.ts";
import { getImage, type ImageView, openFile, readAs } from "../images/index.ts";
import { toAppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type OutgoingFile, type Telegram, telegramOf } from "./client.ts";
import { TelegramError } from "./errors.ts";
import { isLinked, moveChat, unlinkChat } from "./links.ts";

const mib = 1_048_576;

/** Telegram's limits for an uploaded photo. */
const photoLimits = { bytes: 10 * mib, sumPx: 10_000, ratio: 20 };
/** And for any other file. */
const maxDocumentBytes = 50 * mib;
/** Longer side of a picture that was scaled for Telegram. */
const scaledPx = 4_000;
const maxCaption = 1_024;

/**
 * Results as messages of the bot. Telegram knows no key against repetition: a message whose answer or record was lost is
 * sent again (docs/telegram.md).
 */
export const telegramChannel: Channel = {
  name: "telegram",
  async send(services, delivery, signal) {
    const telegram = telegramOf(services.env);
    if (!telegram) throw new DeliveryError("retry", "This studio has no Telegram bot at the moment.");
    const { ownerId: userId, target: chatId } = delivery;
    if (!(await isLinked(services, { userId, chatId })))
      throw new DeliveryError("gone", "The chat is no longer linked.");
    const message = await readMessage(services, delivery);
    try {
      return { externalId: String(await sendTo({ services, telegram, signal }, delivery, message)) };
    } catch (error) {
      throw await toDeliveryError(services, delivery, error);
    }
  },
};

/** A picture as it can be sent, best first; none where the job has no picture any more. */
interface Message {
  readonly caption: string;
  readonly files: readonly (Pick<OutgoingFile, "bytes" | "name"> & { readonly as: "photo" | "document" })[];
}

interface Sender {
  readonly services: Services;
  readonly telegram: Telegram;
  readonly signal: AbortSignal;
}

async function sendTo(sender: Sender, delivery: OwedDelivery, message: Message): Promise<number> {
  const { ownerId: userId, target: from } = delivery;
  try {
    return await sendBest(sender, from, message);
  } catch (error) {
    if (!(error instanceof TelegramError) || error.movedTo === null) throw error;
    // It was refused, so nothing arrived at the old id.
    await moveChat(sender.services, { userId, from, to: error.movedTo });
    return sendBest(sender, error.movedTo, message);
  }
}

/** Sends the first form that Telegram takes: a refusal for the size is certain, so the next form is no repetition. */
async function sendBest(
  { telegram, signal }: Sender,
  chatId: string,
  { caption, files }: Message,
): Promise<number> {
  for (const { as, ...file } of files) {
    try {
      const outgoing = { chatId, caption, ...file };
      return as === "photo"
        ? await telegram.sendPhoto(outgoing, signal)
        : await telegram.sendDocument(outgoing, signal);
    } catch (error) {
      if (!(error instanceof TelegramError) || error.kind !== "size") throw error;
    }
  }
  if (files.length > 0) throw new DeliveryError("refused", "Telegram takes no picture of this size.");
  return telegram.sendText({ chatId, text: caption }, signal);
}

async function readMessage(services: Services, delivery: OwedDelivery): Promise<Message> {
  const job = await readMessageJob(services, delivery);
  const [first] = job.outputs;
  const image = first ? await findImage(services, delivery, first.imageId) : null;
  const caption = captionOf(services, job, image);
  return { caption, files: image ? await formsOf(services, delivery, image) : [] };
}

/** Null when the owner has deleted the picture: the message is worth sending all the same. */
async function findImage(
  services: Services,
  { ownerId }: OwedDelivery,
  id: string,
): Promise<ImageView | null> {
  try {
    return await getImage(services, { ownerId, id });
  } catch (error) {
    if (toAppError(error).code === "not_found") return null;
    throw error;
  }
}

function captionOf({ env }: Services, { title, url, outputs }: MessageJob, image: ImageView | null): string {
  const others = outputs.length - 1;
  const lines = [
    `${title} is done.`,
    ...(image && image.title !== "" ? [image.title] : []),
    ...(image === null && outputs.length > 0 ? ["The picture was deleted."] : []),
    ...(others > 0 ? [`${others} more in the gallery.`] : []),
    // Without an address of the studio the path alone would be no link.
    ...(env.APP_URL ? [linkTo({ env }, new URL(url).pathname)] : []),
  ];
  return lines.join("\n").slice(0, maxCaption);
}

async function formsOf(
  services: Services,
  { ownerId }: OwedDelivery,
  image: ImageView,
): Promise<Message["files"]> {
  const own = { ownerId, id: image.id };
  if (image.sizeBytes > maxDocumentBytes) return [await scaled(services, own)];
  const { body } = await openFile(services, { ...own, variant: "original" });
  const bytes = body ? await buffer(body) : Buffer.alloc(0);
  const document = { as: "document", bytes, name: `atelier.${extensionOf(image.mime)}` } as const;
  if (!(await fitsPhoto(image, bytes))) return [document, await scaled(services, own)];
  // Not every client shows WebP as a photo.
  const photo = image.mime === "image/webp" ? await readAs(services, own, "jpeg") : bytes;
  const name = image.mime === "image/png" ? "atelier.png" : "atelier.jpg";
  return photo.length > photoLimits.bytes ? [document] : [{ as: "photo", bytes: photo, name }, document];
}

const extensionOf = (mime: string) => mime.replace("image/", "").replace("jpeg", "jpg");

/** Telegram makes a JPEG of every photo: one with transparency, such as a cut-out, would get a black ground. */
async function fitsPhoto({ widthPx, heightPx }: ImageView, bytes: Buffer): Promise<boolean> {
  if (bytes.length > photoLimits.bytes || widthPx + heightPx > photoLimits.sumPx) return false;
  if (Math.max(widthPx, heightPx) > photoLimits.ratio * Math.min(widthPx, heightPx)) return false;
  const { hasAlpha } = await sharp(bytes).metadata();
  if (!hasAlpha) return true;
  return (await sharp(bytes, { limitInputPixels: maxOutputPixels }).stats()).isOpaque;
}

async function scaled(
  services: Services,
  own: { readonly ownerId: string; readonly id: string },
): Promise<Message["files"][number]> {
  const jpeg = await readAs(services, own, "jpeg");
  const bytes = await sharp(jpeg, { limitInputPixels: maxOutputPixels })
    .keepMetadata()
    .resize({ width: scaledPx, height: scaledPx, fit: "inside", withoutEnlargement: true })
    .jpeg({ quality: 90 })
    .toBuffer();
  return { as: "document", bytes, name: "atelier-scaled.jpg" };
}

const gone = "The chat cannot be written to any more: the bot was blocked or the account is gone.";

/** Ends the link of a chat that is gone; the ledger then sends nothing more there. */
async function toDeliveryError(services: Services, delivery: OwedDelivery, error: unknown): Promise<unknown> {
  if (!(error instanceof TelegramError)) return error;
  const { kind, status, retryAfterMs } = error;
  switch (kind) {
    case "gone":
      await unlinkChat(services, delivery.target);
      return new DeliveryError("gone", gone, { status });
    case "rate":
      return new DeliveryError("retry", "Telegram asked to wait.", { status, retryAfterMs });
    case "token":
      return new DeliveryError("retry", "Telegram refused the bot's token.", { status });
    case "unknown":
    case "conflict":
    case "moved":
      return new DeliveryError("retry", "Telegram gave no answer; the message may have arrived.", { status });
    case "size":
    case "unchanged":
    case "missing":
    case "refused":
      return new DeliveryError("refused", "Telegram refused the message.", { status });
  }
}
