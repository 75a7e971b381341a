import { z } from "zod";
import { isStorable } from "../platform/index.ts";

/** The kinds of updates that the bot asks Telegram for. */
export const allowedUpdates = ["message", "callback_query", "my_chat_member"] as const;

interface Base {
  readonly id: number;
  readonly chatId: string;
}

/** An update as the bot reads it; what it has no use for is left out. */
export type BotUpdate =
  | (Base & { readonly type: "text"; readonly text: string; readonly name: string })
  | (Base & {
      readonly type: "picture";
      readonly fileId: string;
      readonly fileName: string | null;
      readonly caption: string | null;
      /** Id of the album that it belongs to. */
      readonly groupId: string | null;
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
const person = z.object({ first_name: z.string().optional(), username: z.string().optional() });
const file = z.object({ file_id: z.string().max(500) });
const message = z.object({
  chat,
  from: person.optional(),
  message_id: z.number().int(),
  text: z.string().optional(),
  caption: z.string().optional(),
  media_group_id: z.string().max(100).optional(),
  photo: z.array(file).optional(),
  document: file.extend({ mime_type: z.string().optional(), file_name: z.string().optional() }).optional(),
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
  my_chat_member: z.object({ chat, new_chat_member: z.object({ status: z.string() }) }).optional(),
});

type Message = z.output<typeof message>;
type Update = z.output<typeof updateSchema>;
const idOnly = z.object({ update_id: z.number().int() });

/** Parses an update; one that is not understood becomes `foreign`, and null stands for one without even an id. */
export function parseUpdate(input: unknown): BotUpdate | null {
  const known = updateSchema.safeParse(input);
  if (known.success) return read(known.data);
  const { data } = idOnly.safeParse(input);
  return data ? { type: "foreign", id: data.update_id, chatId: null } : null;
}

function read(update: Update): BotUpdate {
  const { update_id: id, message: sent, callback_query: press, my_chat_member: member } = update;
  const foreign = { type: "foreign", id, chatId: null } as const;
  // Groups have many members and only one of them could be linked.
  const from = chatOf(update);
  if (from?.type !== "private") return foreign;
  const base = { id, chatId: String(from.id) };
  if (sent) return readMessage(base, sent);
  if (press) return readPress(base, press) ?? foreign;
  return member?.new_chat_member.status === "kicked" ? { ...base, type: "blocked" } : foreign;
}

function chatOf({ message: sent, callback_query: press, my_chat_member: member }: Update) {
  return (sent ?? press?.message ?? member)?.chat;
}

function readPress(base: Base, press: NonNullable<Update["callback_query"]>): BotUpdate | null {
  const { id: pressId, data, from, message: shown } = press;
  if (data === undefined) return null;
  return { ...base, type: "press", pressId, data, name: nameOf(from), messageId: shown?.message_id ?? null };
}

function readMessage(base: Base, sent: Message): BotUpdate {
  if (sent.text !== undefined) return { ...base, type: "text", text: sent.text, name: nameOf(sent.from) };
  const picture = pictureOf(sent);
  if (!picture) return { ...base, type: "other" };
  return {
    ...base,
    type: "picture",
    ...picture,
    caption: storable(sent.caption?.trim()),
    groupId: sent.media_group_id ?? null,
  };
}

/** A photo, or a file that is a picture. */
function pictureOf({ photo = [], document }: Message): { fileId: string; fileName: string | null } | null {
  // Telegram lists the sizes of a photo from small to large.
  const largest = photo.at(-1);
  if (largest) return { fileId: largest.file_id, fileName: null };
  if (!document?.mime_type?.startsWith("image/")) return null;
  return { fileId: document.file_id, fileName: storable(document.file_name) };
}

const storable = (text: string | undefined) =>
  text !== undefined && text !== "" && isStorable(text) ? text : null;

/** How the settings name the chat. */
function nameOf(from: z.output<typeof person> | undefined): string {
  const name = from?.username === undefined ? from?.first_name : `@${from.username}`;
  return storable(name)?.slice(0, 80) ?? "Telegram";
}
