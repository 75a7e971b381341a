import { Api, InputFile } from "grammy";
import { type Env, outsideFetch } from "../platform/index.ts";
import { TelegramError, toTelegramError } from "./errors.ts";
import { allowedUpdates, type BotUpdate, parseUpdate } from "./updates.ts";

const callMs = 20_000;
const uploadMs = 90_000;
const downloadMs = 60_000;
/** Added to the time that Telegram itself waits for updates. */
const pollMarginMs = 10_000;
const maxAnswerBytes = 8 * 1_048_576;
/** What bots may download. */
const maxDownloadBytes = 20 * 1_048_576;

export interface Button {
  readonly text: string;
  /** At most 64 bytes. */
  readonly data: string;
}

export interface OutgoingText {
  readonly chatId: string;
  readonly text: string;
  /** Rows of buttons below the message. */
  readonly buttons?: readonly (readonly Button[])[];
}

export interface OutgoingFile {
  readonly bytes: Buffer;
  readonly name: string;
}

/** One picture, or two to ten of them as an album, all in the same form; the caption stands below. */
export interface OutgoingPictures {
  readonly chatId: string;
  readonly caption: string;
  readonly as: "photo" | "document";
  readonly files: readonly OutgoingFile[];
}

/**
 * The Bot API as this studio uses it. Every call ends with the signal or its own time limit and throws a `TelegramError`;
 * none is repeated: after a lost answer the message may be there.
 */
export interface Telegram {
  readonly botId: string;
  /** Name of the bot without the at sign. */
  getName(signal: AbortSignal): Promise<string>;
  /** Updates from `offset` on, which also confirms those before it; waits up to `waitSeconds` for the first one. */
  getUpdates(
    input: { readonly offset: number | null; readonly waitSeconds: number },
    signal: AbortSignal,
  ): Promise<BotUpdate[]>;
  /** Returns the message's id, like the other sends. */
  sendText(message: OutgoingText, signal: AbortSignal): Promise<number>;
  editText(message: OutgoingText & { readonly messageId: number }, signal: AbortSignal): Promise<void>;
  /** Of an album the first message's id. */
  sendPictures(pictures: OutgoingPictures, signal: AbortSignal): Promise<number>;
  /** Ends the waiting mark on a pressed button, with a short notice. */
  answerPress(pressId: string, text: string | null, signal: AbortSignal): Promise<void>;
  /** A file that was sent to the bot. Throws `size` above 20 MB. */
  download(fileId: string, signal: AbortSignal): Promise<Buffer>;
}

type TelegramEnv = Pick<Env, "TELEGRAM_BOT_TOKEN" | "TELEGRAM_API_ROOT" | "TELEGRAM_BOT_NAME">;

const clients = new WeakMap<TelegramEnv, Telegram>();

/** The client of a process; null without a token. */
export function telegramOf(env: TelegramEnv): Telegram | null {
  const { TELEGRAM_BOT_TOKEN: token } = env;
  if (token === undefined) return null;
  const made = clients.get(env) ?? createTelegram({ ...env, TELEGRAM_BOT_TOKEN: token });
  clients.set(env, made);
  return made;
}

function createTelegram({
  TELEGRAM_BOT_TOKEN: token,
  TELEGRAM_API_ROOT: apiRoot,
  TELEGRAM_BOT_NAME: givenName,
}: TelegramEnv & { readonly TELEGRAM_BOT_TOKEN: string }): Telegram {
  const { raw } = new Api(token, { apiRoot, fetch: boundedFetch, timeoutSeconds: longestSeconds });
  let name = givenName ?? null;
  return {
    botId: token.slice(0, token.indexOf(":")),
    async getName(signal) {
      name ??= (await call("getMe", { signal }, (until) => raw.getMe(until))).username;
      return name;
    },
    async getUpdates({ offset, waitSeconds }, signal) {
      const payload = {
        timeout: waitSeconds,
        allowed_updates: allowedUpdates,
        ...(offset === null ? {} : { offset }),
      };
      const limitMs = waitSeconds * 1_000 + pollMarginMs;
      const found: unknown[] = await call("getUpdates", { signal, limitMs }, (until) =>
        raw.getUpdates(payload, until),
      );
      return found.flatMap((update) => parseUpdate(update) ?? []);
    },
    sendText: (message, signal) =>
      call("sendMessage", { signal }, (until) => raw.sendMessage(textOf(message), until)).then(idOf),
    async editText({ messageId, ...message }, signal) {
      const payload = { ...textOf(message), message_id: messageId };
      await call("editMessageText", { signal }, (until) => raw.editMessageText(payload, until));
    },
    sendPictures: (pictures, signal) => sendPictures(raw, pictures, signal),
    async answerPress(pressId, text, signal) {
      const payload = { callback_query_id: pressId, ...(text === null ? {} : { text }) };
      await call("answerCallbackQuery", { signal }, (until) => raw.answerCallbackQuery(payload, until));
    },
    async download(fileId, signal) {
      const file = await call("getFile", { signal }, (until) => raw.getFile({ file_id: fileId }, until));
      if (file.file_path === undefined) throw new TelegramError("unknown", "getFile: no path in the answer.");
      const path = file.file_path.split("/").map(encodeURIComponent).join("/");
      return downloadFrom(`${apiRoot}/file/bot${token}/${path}`, signal);
    },
  };
}

/** A picture alone by its own method: an album has at least two. */
async function sendPictures(
  raw: Api["raw"],
  { chatId, caption, as, files }: OutgoingPictures,
  signal: AbortSignal,
): Promise<number> {
  const chat = { chat_id: chatId };
  const [first, ...others] = files.map(({ bytes, name }) => new InputFile(bytes, name));
  if (!first) throw new Error("no picture to send");
  const limits = { signal, limitMs: uploadMs };
  const asFile = { disable_content_type_detection: true };
  if (others.length > 0) {
    const all = [first, ...others].map((media, at) => ({ media, ...(at === 0 ? { caption } : {}) }));
    const media =
      as === "photo"
        ? all.map((each) => ({ type: "photo", ...each }) as const)
        : all.map((each) => ({ type: "document", ...asFile, ...each }) as const);
    const sent = await call("sendMediaGroup", limits, (until) =>
      raw.sendMediaGroup({ ...chat, media }, until),
    );
    return idOf(sent[0] ?? { message_id: 0 });
  }
  if (as === "photo")
    return idOf(
      await call("sendPhoto", limits, (until) => raw.sendPhoto({ ...chat, caption, photo: first }, until)),
    );
  const payload = { ...chat, caption, document: first, ...asFile };
  return idOf(await call("sendDocument", limits, (until) => raw.sendDocument(payload, until)));
}

/** grammY's own limit; the signals of the calls end earlier. */
const longestSeconds = 120;

/** The signal type of grammY's library; it only adds and removes a listener. */
type CallSignal = NonNullable<Parameters<Api["raw"]["getMe"]>[0]>;

async function call<T>(
  method: string,
  { signal, limitMs = callMs }: { readonly signal: AbortSignal; readonly limitMs?: number },
  send: (until: CallSignal) => Promise<T>,
): Promise<T> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  try {
    // Safe: grammY calls nothing but the listeners of the signal, and both types have them.
    return await send(until as unknown as CallSignal);
  } catch (error) {
    throw toTelegramError(error, method);
  }
}

type GrammyFetch = NonNullable<NonNullable<ConstructorParameters<typeof Api>[1]>["fetch"]>;

/** The platform's `fetch` for grammY, without redirects and with a limit for the answer. */
const boundedFetch = (async (url: string, { agent: _agent, signal, ...options }: GrammyRequest) => {
  const aborted = new AbortController();
  const abort = () => aborted.abort();
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    const response = await outsideFetch(url, { ...options, redirect: "error", signal: aborted.signal });
    const bytes = await readWithin(response, maxAnswerBytes);
    return new Response(bytes, { status: response.status });
  } finally {
    signal.removeEventListener("abort", abort);
  }
  // Safe: grammY calls it with these arguments and reads `json()` of the answer alone.
}) as unknown as GrammyFetch;

interface GrammyRequest extends Omit<RequestInit, "signal"> {
  readonly agent?: unknown;
  readonly signal: Pick<AbortSignal, "aborted" | "addEventListener" | "removeEventListener">;
}

async function readWithin(response: Response, maxBytes: number): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const part of response.body ?? []) {
    sizeBytes += part.length;
    // Leaving the loop cancels the body.
    if (sizeBytes > maxBytes) throw new TelegramError("size", "The answer of Telegram is too large.");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function downloadFrom(url: string, signal: AbortSignal): Promise<Buffer> {
  try {
    const until = AbortSignal.any([signal, AbortSignal.timeout(downloadMs)]);
    const response = await outsideFetch(url, { redirect: "error", signal: until });
    if (!response.ok) {
      await response.body?.cancel();
      throw new TelegramError("missing", `The file cannot be read: Telegram answered ${response.status}.`);
    }
    return await readWithin(response, maxDownloadBytes);
  } catch (error) {
    throw toTelegramError(error, "download");
  }
}

function textOf({ chatId, text, buttons }: OutgoingText) {
  return {
    chat_id: chatId,
    text,
    link_preview_options: { is_disabled: true },
    ...(buttons
      ? {
          reply_markup: {
            inline_keyboard: buttons.map((row) =>
              row.map(({ text: label, data }) => ({ text: label, callback_data: data })),
            ),
          },
        }
      : {}),
  };
}

function idOf({ message_id: id }: { readonly message_id: number }): number {
  return id;
}
