import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import {
  albumOf,
  badRequest,
  buttonsOf,
  checkCaption,
  checkDocument,
  checkDownload,
  checkPhoto,
  checkText,
  Refusal,
  refuseItem,
} from "./rules.ts";
import { type Chat, createPeople, type Person, type ShownMessage } from "./people.ts";

/**
 * What goes wrong with the next calls of a method: `lost`: it is done, and the connection is cut before the answer; `hang`:
 * not done and never answered; `refuse`: refused with this status and text.
 */
type BotFault =
  | { readonly kind: "lost" }
  | { readonly kind: "hang" }
  | {
      readonly kind: "refuse";
      readonly status: number;
      readonly text: string;
      readonly parameters?: Readonly<Record<string, number>>;
    };

export interface BotApi {
  readonly root: string;
  readonly token: string;
  /** The environment of a studio with this bot. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of the methods that were called, in their order. */
  readonly calls: readonly string[];
  person(options?: { readonly name?: string }): Person;
  inject(method: string, ...faults: readonly BotFault[]): void;
  /** Answers calls for the chat with 429 for so long. */
  slowDown(chatId: number, ms: number): void;
  /** Gives the chat another id, as when a group becomes a supergroup. */
  migrate(chatId: number, to: number): void;
  /** As long as the bot has a webhook, no reader is given updates. */
  setWebhook(isOn: boolean): void;
  /** Delivers every update again that was not confirmed, and the last one also when it was. */
  repeatLast(): void;
  close(): Promise<void>;
}

type Fields = Readonly<Record<string, unknown>>;

function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

const botName = "simulated_studio_bot";
const pollStepMs = 15;

export interface BotApiOptions {
  readonly port?: number;
  readonly token?: string;
  /** Called with each message and edit of the bot. */
  readonly onShow?: (message: ShownMessage) => void;
}

/** Starts a bot with nobody in its chats. */
export async function startBotApi(options: BotApiOptions = {}): Promise<BotApi> {
  const { port = 0, token = "7000000001:simulated-token-canary-0123456789", onShow } = options;
  const people = createPeople();
  const { chats, files, queue } = people;
  const faults = new Map<string, BotFault[]>();
  const calls: string[] = [];
  let poll = 0;
  let hasWebhook = false;
  let isClosed = false;

  const chatOf = (fields: Fields): { readonly chat: Chat; readonly chatId: number } => {
    const chatId = Number(fields["chat_id"]);
    const chat = chats.get(chatId);
    if (!chat) throw badRequest("chat not found");
    if (chat.movedTo !== null)
      throw new Refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", {
        migrate_to_chat_id: chat.movedTo,
      });
    if (chat.isBlocked) throw new Refusal(403, "Forbidden: bot was blocked by the user");
    const leftMs = chat.slowUntilMs - performance.now();
    if (leftMs > 0) {
      const seconds = Math.ceil(leftMs / 1_000);
      throw new Refusal(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
    }
    return { chat, chatId };
  };

  const show = (
    fields: Fields,
    content: Pick<ShownMessage, "kind" | "text" | "bytes" | "fileName">,
    groupId: string | null = null,
  ) => {
    const { chat, chatId } = chatOf(fields);
    const buttons = buttonsOf(fields["reply_markup"]);
    const message = { ...content, groupId, id: people.newId(), chatId, buttons, editedAtMs: [] };
    chat.messages.push(message);
    onShow?.(message);
    return { message_id: message.id, date: 0, chat: { id: chatId, type: "private" } };
  };

  const fileOf = (fields: Fields, name: string, given = fields[name]) => {
    const part = typeof given === "string" && given.startsWith("attach://") ? fields[given.slice(9)] : given;
    if (!(part instanceof UploadedFile)) throw badRequest("wrong file identifier/HTTP URL specified");
    return part;
  };

  const methods: Readonly<Record<string, (fields: Fields) => unknown>> = {
    getMe: () => ({ id: Number(token.split(":")[0]), is_bot: true, first_name: "Studio", username: botName }),
    sendMessage(fields) {
      chatOf(fields);
      const text = textOf(fields, "text");
      checkText(text);
      return show(fields, { kind: "text", text, bytes: null, fileName: null });
    },
    editMessageText(fields) {
      const { chat } = chatOf(fields);
      const text = textOf(fields, "text");
      checkText(text);
      const message = chat.messages.find(({ id }) => id === Number(fields["message_id"]));
      if (!message) throw badRequest("message to edit not found");
      const buttons = buttonsOf(fields["reply_markup"]);
      if (message.text === text && JSON.stringify(message.buttons) === JSON.stringify(buttons))
        throw badRequest("message is not modified: specified new message content is exactly the same");
      Object.assign(message, { text, buttons });
      message.editedAtMs.push(performance.now());
      onShow?.(message);
      return true;
    },
    async sendPhoto(fields) {
      chatOf(fields);
      const { bytes, name } = fileOf(fields, "photo");
      const text = textOf(fields, "caption");
      checkCaption(text);
      await checkPhoto(bytes);
      return show(fields, { kind: "photo", text, bytes, fileName: name });
    },
    sendDocument(fields) {
      chatOf(fields);
      const { bytes, name } = fileOf(fields, "document");
      const text = textOf(fields, "caption");
      checkCaption(text);
      checkDocument(bytes);
      return show(fields, { kind: "document", text, bytes, fileName: name });
    },
    async sendMediaGroup(fields) {
      chatOf(fields);
      const items = albumOf(fields["media"]);
      const found = items.map(({ type, media, caption: text = "" }) => {
        const { bytes, name } = fileOf(fields, "media", media);
        return { type, text, bytes, name };
      });
      for (const [at, { type, bytes, text }] of found.entries()) {
        checkCaption(text);
        if (type === "document") checkDocument(bytes);
        else await checkPhoto(bytes).catch((error: Error) => refuseItem(at, error));
      }
      const groupId = `group-${people.newId()}`;
      return found.map(({ type: kind, text, bytes, name: fileName }) =>
        show(fields, { kind, text, bytes, fileName }, groupId),
      );
    },
    answerCallbackQuery(fields) {
      const chat = chats.get(Number(String(fields["callback_query_id"]).split("-")[0]));
      if (!chat) throw badRequest("query is too old and response timeout expired or query ID is invalid");
      if (fields["text"] !== undefined) chat.notices.push(textOf(fields, "text"));
      return true;
    },
    getFile(fields) {
      const id = String(fields["file_id"]);
      const bytes = files.get(id);
      if (!bytes) throw badRequest("wrong file_id or the file is temporarily unavailable");
      checkDownload(bytes);
      return { file_id: id, file_unique_id: id, file_size: bytes.length, file_path: `photos/${id}.jpg` };
    },
    async getUpdates(fields) {
      if (hasWebhook)
        throw new Refusal(
          409,
          "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        );
      const offset = Number(fields["offset"] ?? 0);
      queue.confirm(offset);
      const own = (poll += 1);
      const endMs = performance.now() + Number(fields["timeout"] ?? 0) * 1_000;
      while (queue.waiting().length === 0 && performance.now() < endMs && own === poll && !isClosed)
        await new Promise((resolve) => setTimeout(resolve, pollStepMs));
      if (own !== poll) throw new Refusal(409, "Conflict: terminated by other getUpdates request");
      return queue.waiting().slice(0, 100);
    },
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? "/", "http://bot.test");
    const body = await buffer(request);
    if (pathname.startsWith(`/file/bot${token}/`)) {
      const file = files.get(pathname.slice(pathname.lastIndexOf("/") + 1).replace(/\.jpg$/, ""));
      response.writeHead(file ? 200 : 404).end(file);
      return;
    }
    const [, given, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(pathname) ?? [];
    calls.push(method);
    const answer = async (): Promise<object> => {
      if (given !== token) throw new Refusal(401, "Unauthorized");
      const run = methods[method];
      if (!run) throw new Refusal(404, "Not Found: method not found");
      const fault = faults.get(method)?.shift();
      if (fault?.kind === "hang") return new Promise<never>(() => undefined);
      if (fault?.kind === "refuse") throw new Refusal(fault.status, fault.text, fault.parameters);
      const result = await run(await readFields(request, body));
      if (fault?.kind === "lost") response.destroy();
      return { ok: true, result };
    };
    const [status, json] = await answer().then(
      (value) => [200, value] as const,
      (error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
        const { status: code, message, parameters } = error;
        const more = Object.keys(parameters).length > 0 ? { parameters } : {};
        return [code, { ok: false, error_code: code, description: message, ...more }] as const;
      },
    );
    if (response.destroyed) return;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      response.writeHead(500).end(JSON.stringify({ ok: false, error_code: 500, description: String(error) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: bound } = server.address() as AddressInfo;
  const root = `http://127.0.0.1:${bound}`;

  const existing = (chatId: number): Chat => {
    const chat = chats.get(chatId);
    if (!chat) throw new Error(`there is no chat ${chatId}`);
    return chat;
  };
  return {
    root,
    token,
    env: { TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: root },
    calls,
    person: (options) => people.person(options),
    inject: (method, ...list) => void faults.set(method, [...(faults.get(method) ?? []), ...list]),
    slowDown(chatId, ms) {
      existing(chatId).slowUntilMs = performance.now() + ms;
    },
    migrate(chatId, to) {
      const chat = existing(chatId);
      chats.set(to, { ...chat, movedTo: null });
      chat.movedTo = to;
    },
    setWebhook(isOn) {
      hasWebhook = isOn;
    },
    repeatLast: () => queue.repeatLast(),
    async close() {
      isClosed = true;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class UploadedFile {
  readonly bytes: Buffer;
  readonly name: string;

  constructor(bytes: Buffer, name: string) {
    this.bytes = bytes;
    this.name = name;
  }
}

/** The fields of a call: JSON, or a form whose files may be named by `attach://`. */
async function readFields({ headers }: IncomingMessage, body: Buffer): Promise<Fields> {
  const type = headers["content-type"] ?? "";
  if (!type.startsWith("multipart/form-data"))
    return body.length === 0 ? {} : (JSON.parse(body.toString()) as Fields);
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData();
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form)
    fields[name] =
      typeof value === "string"
        ? value
        : new UploadedFile(Buffer.from(await value.arrayBuffer()), value.name);
  return fields;
}
