import { buffer } from "node:stream/consumers";
import sharp from "sharp";
import { wordsFor } from "../accounts/plain.ts";
import type { Words } from "../words.ts";
import {
  type Channel,
  DeliveryError,
  linkTo,
  type MessageJob,
  type OwedDelivery,
  readMessageJob,
} from "../deliveries/index.ts";
import { maxOutputPixels } from "../engines.ts";
import { findImage, type ImageView, openFile, readAs } from "../images/index.ts";
import type { Services } from "../services.ts";
import { type OutgoingFile, type OutgoingPictures, type Telegram, telegramOf } from "./client.ts";
import { TelegramError, type TelegramErrorKind } from "./errors.ts";
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

/** The pictures of a job in the forms in which they can be sent, best first; no form where the job has no picture any more. */
interface Message {
  /** Says how many pictures are in the gallery alone. */
  readonly caption: (sent: number) => string;
  readonly forms: readonly Form[];
}

type Form = Pick<OutgoingPictures, "as" | "files">;

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
  { caption, forms }: Message,
): Promise<number> {
  for (const form of forms) {
    try {
      return await telegram.sendPictures({ chatId, caption: caption(form.files.length), ...form }, signal);
    } catch (error) {
      if (!(error instanceof TelegramError) || error.kind !== "size") throw error;
    }
  }
  if (forms.length > 0) throw new DeliveryError("refused", "Telegram takes no picture of this size.");
  return telegram.sendText({ chatId, text: caption(0) }, signal);
}

/** What Telegram puts into one album. */
const maxAlbum = 10;

async function readMessage(services: Services, delivery: OwedDelivery): Promise<Message> {
  const job = await readMessageJob(services, delivery);
  const { ownerId } = delivery;
  // Without those that the owner has deleted: the message is worth sending all the same.
  const found = await Promise.all(
    job.outputs.slice(0, maxAlbum).map(({ imageId: id }) => findImage(services, { ownerId, id })),
  );
  const images = found.filter((image) => image !== null);
  const [first] = images;
  const words = await wordsFor(services, delivery.ownerId);
  const fitting = takeFitting(images);
  const album = fitting.length > 1 || !first ? fitting : [first];
  const caption = (sent: number) => captionOf(services, { words, job }, { image: album[0] ?? null, sent });
  const all: (readonly FileForm[])[] = [];
  for (const image of album) all.push(await formsOf(services, delivery, image));
  return { caption, forms: [...albumsOf(all), ...(all[0] ?? []).map(alone)] };
}

const alone = ({ as, ...file }: FileForm): Form => ({ as, files: [file] });

/** What one request holds, which is as much as one file may have: the rest is in the gallery. */
function takeFitting(images: readonly ImageView[]): readonly ImageView[] {
  let sumBytes = 0;
  return images.filter(({ sizeBytes }) => {
    const fits = sumBytes + sizeBytes <= maxDocumentBytes;
    if (fits) sumBytes += sizeBytes;
    return fits;
  });
}

/** The forms that all pictures of an album have: photos and files do not mix in it. */
function albumsOf(all: readonly (readonly FileForm[])[]): readonly Form[] {
  if (all.length < 2) return [];
  return (["photo", "document"] as const).flatMap((as) => {
    const files = all.flatMap((forms) => forms.find((form) => form.as === as) ?? []);
    return files.length === all.length
      ? [{ as, files: files.map(({ bytes, name }) => ({ bytes, name })) }]
      : [];
  });
}

function captionOf(
  { env }: Services,
  { words: { t }, job }: { readonly words: Words; readonly job: MessageJob },
  { image, sent }: { readonly image: ImageView | null; readonly sent: number },
): string {
  const { kind, url, outputs } = job;
  const others = outputs.length - Math.max(1, sent);
  const lines = [
    t("bot.result.done", { kind: t(`jobs.kinds.${kind}`) }),
    ...(image && image.title !== "" ? [image.title] : []),
    ...(image === null && outputs.length > 0 ? [t("bot.result.deleted")] : []),
    ...(others > 0 ? [t("bot.result.more", { count: others })] : []),
    // Without an address of the studio the path alone would be no link.
    ...(env.APP_URL ? [linkTo({ env }, new URL(url).pathname)] : []),
  ];
  return lines.join("\n").slice(0, maxCaption);
}

type FileForm = OutgoingFile & Pick<OutgoingPictures, "as">;

async function formsOf(
  services: Services,
  { ownerId }: OwedDelivery,
  image: ImageView,
): Promise<readonly FileForm[]> {
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
): Promise<FileForm> {
  const jpeg = await readAs(services, own, "jpeg");
  const bytes = await sharp(jpeg, { limitInputPixels: maxOutputPixels })
    .keepMetadata()
    .resize({ width: scaledPx, height: scaledPx, fit: "inside", withoutEnlargement: true })
    .jpeg({ quality: 90 })
    .toBuffer();
  return { as: "document", bytes, name: "atelier-scaled.jpg" };
}

const unanswered: ReadonlySet<TelegramErrorKind> = new Set(["unknown", "conflict", "webhook", "moved"]);

const gone = "The chat cannot be written to any more: the bot was blocked or the account is gone.";

/** Ends the link of a chat that is gone; the ledger then sends nothing more there. */
async function toDeliveryError(services: Services, delivery: OwedDelivery, error: unknown): Promise<unknown> {
  if (!(error instanceof TelegramError)) return error;
  const { kind, status, retryAfterMs } = error;
  if (kind === "gone") {
    await unlinkChat(services, delivery.target);
    return new DeliveryError("gone", gone, { status });
  }
  if (kind === "rate") return new DeliveryError("retry", "Telegram asked to wait.", { status, retryAfterMs });
  if (kind === "token") return new DeliveryError("retry", "Telegram refused the bot's token.", { status });
  return unanswered.has(kind)
    ? new DeliveryError("retry", "Telegram gave no answer; the message may have arrived.", { status })
    : new DeliveryError("refused", "Telegram refused the message.", { status });
}
