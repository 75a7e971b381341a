import type { ShownButton } from "./rules.ts";

/** A message of the bot as the person sees it. */
export interface ShownMessage {
  readonly id: number;
  readonly chatId: number;
  readonly kind: "text" | "photo" | "document";
  /** Text or caption. */
  text: string;
  buttons: readonly ShownButton[];
  readonly bytes: Buffer | null;
  readonly fileName: string | null;
  /** Id of the album that it belongs to. */
  readonly groupId: string | null;
  /** Times of the edits in ms. */
  readonly editedAtMs: number[];
}

/** A person in a private chat with the bot. */
export interface Person {
  readonly chatId: number;
  /** What the bot shows in the chat, oldest first. */
  readonly messages: readonly ShownMessage[];
  /** Short notices of pressed buttons. */
  readonly notices: readonly string[];
  say(text: string): void;
  /** Answers a message of the bot, or what was sent last, below it: by a text, or by a photo. */
  reply(to: ShownMessage | "own", content: string | Buffer): void;
  /** Photos that belong together are an album. */
  sendPhotos(
    photos: readonly Buffer[],
    options?: { readonly caption?: string; readonly asFile?: boolean },
  ): void;
  /** Presses the button on the newest message that has it. */
  press(text: string): void;
  block(): void;
}

/** A private chat. */
export interface Chat {
  readonly messages: ShownMessage[];
  readonly notices: string[];
  readonly name: string;
  isBlocked: boolean;
  slowUntilMs: number;
  movedTo: number | null;
}

type Update = Readonly<Record<string, unknown>> & { readonly update_id: number };

type Fields = Readonly<Record<string, unknown>>;

/** Updates that the bot has not confirmed. */
interface UpdateQueue {
  waiting(): readonly Update[];
  /** Drops those before the offset. */
  confirm(offset: number): void;
  repeatLast(): void;
}

interface People {
  readonly chats: Map<number, Chat>;
  /** Files that were sent to the bot, by id. */
  readonly files: Map<string, Buffer>;
  readonly queue: UpdateQueue;
  newId(): number;
  person(options?: { readonly name?: string }): Person;
}

/** People, what they see, and what they send as updates. */
export function createPeople(): People {
  const chats = new Map<number, Chat>();
  const files = new Map<string, Buffer>();
  let updates: Update[] = [];
  let lastUpdate: Update | null = null;
  let nextUpdate = 5_000;
  let nextId = 1;
  const newId = () => (nextId += 1);

  const push = (content: Fields) => {
    lastUpdate = { update_id: (nextUpdate += 1), ...content };
    updates.push(lastUpdate);
  };

  const person = ({ name = "ann" }: { readonly name?: string } = {}): Person => {
    const chatId = 3_000_000_000 + chats.size;
    const chat: Chat = { messages: [], notices: [], name, isBlocked: false, slowUntilMs: 0, movedTo: null };
    chats.set(chatId, chat);
    const from = { id: chatId, is_bot: false, first_name: name, username: name };
    const head = () => ({
      message_id: newId(),
      date: 0,
      chat: { id: chatId, type: "private", first_name: name },
      from,
    });
    let own: Fields = {};
    const sizesOf = (bytes: Buffer) => {
      const id = `file-${newId()}`;
      files.set(id, bytes);
      const file = { file_id: id, file_unique_id: id, file_size: bytes.length };
      const small = { ...file, file_id: `${id}-small`, width: 90, height: 90 };
      return { file, photo: [small, { ...file, width: 900, height: 900 }] };
    };
    /** A message of the bot as Telegram shows it in a reply. */
    const shownAs = ({ id, kind, bytes, fileName, text }: ShownMessage): Fields => {
      const base = { message_id: id, date: 0, chat: { id: chatId, type: "private" } };
      if (!bytes) return { ...base, text };
      const { file, photo } = sizesOf(bytes);
      const document = { ...file, mime_type: "image/png", file_name: fileName };
      return { ...base, caption: text, ...(kind === "photo" ? { photo } : { document }) };
    };
    return {
      chatId,
      messages: chat.messages,
      notices: chat.notices,
      say: (text) => push({ message: { ...head(), text } }),
      sendPhotos(photos, { caption, asFile = false } = {}) {
        const group = photos.length > 1 ? { media_group_id: `group-${newId()}` } : {};
        for (const [at, bytes] of photos.entries()) {
          const { file, photo } = sizesOf(bytes);
          const content = asFile
            ? { document: { ...file, mime_type: "image/png", file_name: `${file.file_id}.png` } }
            : { photo };
          own = { ...head(), ...group, ...content, ...(at === 0 && caption ? { caption } : {}) };
          push({ message: own });
        }
      },
      reply(to, content) {
        const answered = { reply_to_message: to === "own" ? own : shownAs(to) };
        const sent = typeof content === "string" ? { text: content } : { photo: sizesOf(content).photo };
        push({ message: { ...head(), ...sent, ...answered } });
      },
      press(text) {
        for (const message of chat.messages.toReversed()) {
          const button = message.buttons.find((each) => each.text === text);
          if (!button) continue;
          const shown = { message_id: message.id, date: 0, chat: { id: chatId, type: "private" } };
          push({
            callback_query: {
              id: `${chatId}-${newId()}`,
              from,
              data: button.data,
              message: shown,
              chat_instance: "1",
            },
          });
          return;
        }
        throw new Error(`no message shows a button ${text}`);
      },
      block() {
        chat.isBlocked = true;
        const member = { user: from, status: "kicked" };
        push({ my_chat_member: { chat: { id: chatId, type: "private" }, from, new_chat_member: member } });
      },
    };
  };

  const queue: UpdateQueue = {
    waiting: () => updates,
    confirm(offset) {
      updates = updates.filter(({ update_id: id }) => id >= offset);
    },
    repeatLast() {
      if (lastUpdate && !updates.includes(lastUpdate)) updates.push(lastUpdate);
    },
  };
  return { chats, files, queue, newId, person };
}
