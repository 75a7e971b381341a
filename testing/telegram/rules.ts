import sharp from "sharp";
import { waitUntil } from "../../scripts/process/tools.ts";

/** An answer of the Bot API that is not a result. */
export class Refusal extends Error {
  readonly status: number;
  readonly parameters: Readonly<Record<string, number>>;

  constructor(status: number, description: string, parameters: Readonly<Record<string, number>> = {}) {
    super(description);
    this.status = status;
    this.parameters = parameters;
  }
}

export const badRequest = (text: string) => new Refusal(400, `Bad Request: ${text}`);

const mib = 1_048_576;
const maxButtonBytes = 64;

export function checkText(text: string): void {
  if (text === "") throw badRequest("message text is empty");
  if (text.length > 4_096) throw badRequest("message is too long");
}

export function checkCaption(caption: string): void {
  if (caption.length > 1_024) throw badRequest("message caption is too long");
}

export async function checkPhoto(bytes: Buffer): Promise<void> {
  if (bytes.length > 10 * mib) throw badRequest("file is too big");
  const { width, height } = await sharp(bytes)
    .metadata()
    .catch(() => {
      throw badRequest("IMAGE_PROCESS_FAILED");
    });
  if (width + height > 10_000 || Math.max(width, height) > 20 * Math.min(width, height))
    throw badRequest("PHOTO_INVALID_DIMENSIONS");
}

export function checkDocument(bytes: Buffer): void {
  if (bytes.length > 50 * mib) throw new Refusal(413, "Request Entity Too Large");
}

interface AlbumItem {
  readonly type: "photo" | "document";
  readonly media: string;
  readonly caption?: string;
}

/** The items of an album, which a form carries as JSON. */
export function albumOf(media: unknown): readonly AlbumItem[] {
  const items: AlbumItem[] = typeof media === "string" ? JSON.parse(media) : [];
  if (items.length < 2 || items.length > 10) throw badRequest("wrong number of messages to send");
  if (new Set(items.map(({ type }) => type)).size > 1)
    throw badRequest("document can't be mixed with other media types");
  return items;
}

/** An album is refused as a whole for one of its items. */
export function refuseItem(at: number, { message }: Error): never {
  throw badRequest(
    `failed to send message #${at + 1} with the error message "${message.replace("Bad Request: ", "")}"`,
  );
}

export function checkDownload(bytes: Buffer): void {
  if (bytes.length > 20 * mib) throw badRequest("file is too big");
}

export interface ShownButton {
  readonly text: string;
  readonly data: string;
}

/** The buttons of a `reply_markup`, which a form carries as JSON. */
export function buttonsOf(markup: unknown): ShownButton[] {
  const value: unknown = typeof markup === "string" ? JSON.parse(markup) : markup;
  if (typeof value !== "object" || value === null || !("inline_keyboard" in value)) return [];
  // Safe: only this studio's client sends to the simulator.
  const rows = value.inline_keyboard as { text: string; callback_data: string }[][];
  return rows.flat().map(({ text, callback_data: data }) => {
    if (Buffer.byteLength(data) > maxButtonBytes) throw badRequest("BUTTON_DATA_INVALID");
    return { text, data };
  });
}

const patienceMs = 90_000;

/** Waits until `find` returns something; throws after `patienceMs`. */
export async function until<T>(
  what: string,
  find: () => Promise<T | null | undefined> | T | null | undefined,
): Promise<T> {
  let found: T | null | undefined;
  await waitUntil(async () => {
    found = await find();
    return found !== null && found !== undefined && found !== false;
  }, patienceMs);
  if (found === null || found === undefined || found === false)
    throw new Error(`${what}: not within ${patienceMs} ms`);
  return found;
}
