import { setTimeout as sleep } from "node:timers/promises";
import { wordsFor } from "@atelier/server/accounts/plain";
import type { Services } from "@atelier/server/services";
import {
  type Button,
  type OutgoingText,
  type Telegram,
  TelegramError,
  unlinkChat,
} from "@atelier/server/telegram";
import type { Words } from "@atelier/server/words";

export type Buttons = readonly (readonly Button[])[];

/** What the parts of the bot work with. */
export interface Bot {
  readonly services: Services;
  readonly telegram: Telegram;
  /** The process stops. */
  readonly signal: AbortSignal;
  /** Sends a message that nothing depends on: a failure is logged. */
  say(chatId: string, text: string, buttons?: Buttons): Promise<void>;
  /** The same for what has to be said: throws what Telegram wants to be asked again later than it waits here. */
  ask(chatId: string, text: string, buttons?: Buttons): Promise<void>;
  /** Ends the waiting mark of a pressed button with a short notice. */
  note(press: Pressed, text: string): Promise<void>;
  /** Ends the waiting mark of a pressed button, and puts `text` in the place of the message with the buttons. */
  settle(press: Pressed, text: string, buttons?: Buttons): Promise<void>;
}

/** The bot as it speaks to one person. */
export interface Speaker extends Bot {
  readonly words: Words;
}

/** Speaks the language of an account. */
export async function speakTo(bot: Bot, userId: string): Promise<Speaker> {
  return { ...bot, words: await wordsFor(bot.services, userId) };
}

interface Pressed {
  readonly chatId: string;
  readonly pressId: string;
  readonly messageId: number | null;
}

const maxText = 4_096;
/** A longer wait would hold up the other updates of the chat. */
const longestWaitMs = 15_000;

export function createBot(services: Services, telegram: Telegram, signal: AbortSignal): Bot {
  const log = (error: TelegramError) =>
    services.log.warn({ kind: error.kind, status: error.status }, "a message of the bot was not delivered");
  const failed = async (chatId: string, error: unknown) => {
    if (!(error instanceof TelegramError)) throw error;
    if (error.kind === "unchanged") return;
    log(error);
    if (error.kind === "gone") await unlinkChat(services, chatId);
  };
  /** Once more after a refusal for now: the first one was certainly not shown. */
  const patiently = async (send: () => Promise<unknown>) => {
    try {
      await send();
    } catch (error) {
      const waitMs = waitAfter(error);
      if (waitMs === null || waitMs > longestWaitMs) throw error;
      await sleep(waitMs, null, { signal });
      await send();
    }
  };
  const ask: Bot["ask"] = async (chatId, text, buttons) => {
    const message = messageOf(chatId, text, buttons);
    await patiently(() => telegram.sendText(message, signal)).catch((error: unknown) => {
      if (waitAfter(error) !== null) throw error;
      return failed(chatId, error);
    });
  };
  const say: Bot["say"] = (chatId, ...said) =>
    ask(chatId, ...said).catch((error: unknown) => failed(chatId, error));
  return {
    services,
    telegram,
    signal,
    say,
    ask,
    note: ({ chatId, pressId }, text) =>
      telegram.answerPress(pressId, text, signal).catch((error: unknown) => failed(chatId, error)),
    async settle({ chatId, pressId, messageId }, text, buttons) {
      await telegram.answerPress(pressId, null, signal).catch((error: unknown) => failed(chatId, error));
      if (messageId === null) return say(chatId, text, buttons);
      const message = { ...messageOf(chatId, text, buttons), messageId };
      await patiently(() => telegram.editText(message, signal)).catch((error: unknown) =>
        failed(chatId, error),
      );
    },
  };
}

/** How long Telegram wants to be left alone, ms; null where a later try is of no use. */
export const waitAfter = (error: unknown): number | null =>
  error instanceof TelegramError ? error.retryAfterMs : null;

function messageOf(chatId: string, text: string, buttons?: Buttons): OutgoingText {
  return { chatId, text: text.slice(0, maxText), ...(buttons ? { buttons } : {}) };
}
