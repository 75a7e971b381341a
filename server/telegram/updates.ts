import { z } from "zod";
import { type Locale, matchLocale } from "../locales.ts";
import { isStorable } from "../platform/index.ts";

/** The kinds of updates that the bot asks Telegram for. */
export const allowedUpdates = ["message", "callback_query", "my_chat_member"] as const;

interface Base {
  readonly id: number;
  readonly chatId: string;
  /** Of the person's Telegram; null when the studio does not speak it. */
  readonly locale: Locale | null;
}

export interface SentFile {
  readonly fileId: string;
  readonly fileName: string | null;
}

/** An update as the bot reads it; what it has no use for is left out. */
export type BotUpdate =
  | (Base & { readonly type: "text"; readonly text: string; readonly name: string })
  | (Base & {
      readonly type: "picture";
      readonly fileId: string;
      readonly fileName: string | null;
      readonly sizeBytes: number | null;
      readonly caption: string | null;
      /** Id of the album that it belongs to. */
      readonly groupId: string | null;
      /** The picture that it was sent as a reply to. */
      readonly repliedTo: SentFile | null;
    })
  | (Base & {
      readonly type: "press";
      readonly pressId: string;
      readonly data: string;
      readonly name: string;
      readonly messageId: number | null;
    })
  /** The person blocked the bot or deleted the chat. */
  | (Base & { readonly type: "blocked" })
  /** A message that is neither text nor a picture. */
  | (Base & { readonly type: "other" })
  /** From a group or a channel, or of no interest: only its id is confirmed. */
  | { readonly type: "foreign"; readonly id: number; readonly chatId: null };

const chat = z.object({ id: z.number().int(), type: z.string() });
const person = z.object({
  first_name: z.string().optional(),
  username: z.string().optional(),
  language_code: z.string().optional().catch(undefined),
});
const file = z.object({ file_id: z.string().max(500), file_size: z.number().optional() });
const pictured = z.object({
  photo: z.array(file).optional(),
  document: file.extend({ mime_type: z.string().optional(), file_name: z.string().optional() }).optional(),
});
const message = pictured.extend({
  chat,
  from: person.optional(),
  message_id: z.number().int(),
  text: z.string().optional(),
  caption: z.string().optional(),
  media_group_id: z.string().max(100).optional(),
  /** Of the same chat, or of another one. What cannot be read is no picture. */
  reply_to_message: pictured.optional().catch(undefined),
  external_reply: pictured.optional().catch(undefined),
});
const updateSchema = z.object({
  update_id: z.number().int(),
  message: message.optional(),
  callback_query: z
    .object({
      id: z.string().max(100),
      from: person,
      data: z.string().max(64).optional(),
      message: z.object({ chat, message_id: z.number().int() }).optional(),
    })
    .optional(),
  my_chat_member: z
    .object({ chat, from: person.optional(), new_chat_member: z.object({ status: z.string() }) })
    .optional(),
});

type Update = z.output<typeof updateSchema>;
const idOnly = z.object({ update_id: z.number().int() });

/** Parses an update; one that is not understood becomes `foreign`, and null stands for one without even an id. */
export function parseUpdate(input: unknown): BotUpdate | null {
  const known = updateSchema.safeParse(input);
  if (known.success) return read(known.data);
  const { data } = idOnly.safeParse(input);
  return data ? { type: "foreign", id: data.update_id, chatId: null } : null;
}

type Press = NonNullable<Update["callback_query"]>;

function read(update: Update): BotUpdate {
  const { update_id: id, message: sent, callback_query: press, my_chat_member: member } = update;
  const foreign = { type: "foreign", id, chatId: null } as const;
  const base = readBase(update);
  if (base === null) return foreign;
  if (sent) return readMessage(base, sent);
  if (press) return readPress(base, press) ?? foreign;
  return member?.new_chat_member.status === "kicked" ? { ...base, type: "blocked" } : foreign;
}

/** Null for a group: it has many members and only one of them could be linked. */
function readBase({
  update_id: id,
  message: sent,
  callback_query: press,
  my_chat_member,
}: Update): Base | null {
  const { chat: of } = sent ?? press?.message ?? my_chat_member ?? {};
  const { from } = sent ?? press ?? my_chat_member ?? {};
  if (of?.type !== "private") return null;
  return { id, chatId: String(of.id), locale: matchLocale(from?.language_code) };
}

function readPress(base: Base, { id, data, from, message: under }: Press): BotUpdate | null {
  if (data === undefined) return null;
  const messageId = under?.message_id ?? null;
  return { ...base, type: "press", pressId: id, data, name: nameOf(from), messageId };
}

function readMessage(base: Base, sent: z.output<typeof message>): BotUpdate {
  const { text, document, media_group_id: groupId = null } = sent;
  const answered = pictureOf(sent.reply_to_message) ?? pictureOf(sent.external_reply);
  const ofPicture = { ...base, type: "picture", groupId } as const;
  if (text !== undefined) {
    // A text below a picture is what to do with it, as its caption would be; commands stay what they are.
    if (!answered || text.trim() === "" || text.startsWith("/"))
      return { ...base, type: "text", text, name: nameOf(sent.from) };
    return {
      ...ofPicture,
      ...sizedFile(answered),
      fileName: null,
      caption: storable(text.trim()),
      repliedTo: null,
    };
  }
  const picture = pictureOf(sent);
  if (!picture) return { ...base, type: "other" };
  return {
    ...ofPicture,
    ...sizedFile(picture),
    fileName: storable(document?.file_name),
    caption: storable(sent.caption?.trim()),
    repliedTo: answered ? { fileId: answered.file_id, fileName: null } : null,
  };
}

const sizedFile = ({ file_id: fileId, file_size: sizeBytes }: z.output<typeof file>) => ({
  fileId,
  sizeBytes: sizeBytes ?? null,
});

/** Telegram lists the sizes of a photo from small to large. */
function pictureOf(sent: z.output<typeof pictured> | undefined) {
  return sent?.photo?.at(-1) ?? (isPicture(sent?.document) ? sent?.document : undefined);
}

/** Of the formats that an upload may have. */
const pictureNames = /\.(png|jpe?g|jfif|webp|heic|heif|hif|avif|gif|tiff?)$/i;

/** Not every program that sends a file says of which kind it is. */
function isPicture(document: z.output<typeof pictured>["document"]): boolean {
  const { mime_type: mime = "", file_name: name = "" } = document ?? {};
  if (mime === "" || mime === "application/octet-stream") return pictureNames.test(name);
  return mime.startsWith("image/");
}

const storable = (text: string | undefined) =>
  text !== undefined && text !== "" && isStorable(text) ? text : null;

/** How the settings name the chat. */
function nameOf(from: z.output<typeof person> | undefined): string {
  const name = from?.username === undefined ? from?.first_name : `@${from.username}`;
  return storable(name)?.slice(0, 80) ?? "Telegram";
}
