/**
 * The bot in the worker: it reads what people send to it, submits jobs for their accounts and shows how these go.
 *
 *     lease (poll.ts) ──▶ getUpdates ──▶ beginUpdate ──▶ answer.ts: commands, links, text ──▶ endUpdate ──▶ storeOffset
 *                                                          photos.ts: photos, questions about them, presses
 *                                                          start.ts: submit, and the message of the job
 *     progress.ts: every second the messages of open jobs are edited, each at most every 3 s
 *
 * Every worker starts it; the lease lets one of them read. When that one dies, its lease ends and another goes on with the
 * updates that were not handled to their end; what they had caused by then is found again by its key and not done twice.
 * Results are sent by the deliveries (worker/deliveries.ts), not here.
 *
 * Terms are those of server/telegram. Not here: rules of jobs (`submit` decides as it does for the website) and SQL.
 */
import { createPoller, telegramOf } from "@atelier/server/telegram";
import type { Services } from "@atelier/server/services";
import type { Loop } from "../base/loop.ts";
import { createBot } from "./bot.ts";
import { startPolling } from "./poll.ts";
import { startProgress } from "./progress.ts";

interface TelegramTiming {
  /** A poller that died is replaced after this time. */
  readonly leaseMs: number;
  /** How long Telegram holds a request for updates; shorter than the lease. */
  readonly waitSeconds: number;
  /** The shortest time between two edits of a message. */
  readonly editMs: number;
}

const usual: TelegramTiming = { leaseMs: 15_000, waitSeconds: 8, editMs: 3_000 };

interface TelegramOptions {
  readonly timing?: TelegramTiming;
  /** The node that shows admins why the bot cannot be read; null while there is none. */
  readonly nodeId?: () => string | null;
}

/** Starts the bot; null when the studio has none. */
export function startTelegram(
  services: Services,
  { timing = usual, nodeId = () => null }: TelegramOptions = {},
): Pick<Loop, "stop"> | null {
  const telegram = telegramOf(services.env);
  if (!telegram) return null;
  const stopped = new AbortController();
  const bot = createBot(services, telegram, stopped.signal);
  const polling = startPolling(bot, createPoller(telegram.botId, timing.leaseMs), {
    waitSeconds: timing.waitSeconds,
    nodeId,
  });
  const progress = startProgress(bot, { isActive: polling.isHeld, editMs: timing.editMs });
  return {
    async stop() {
      stopped.abort(new Error("the process stops"));
      await progress.stop();
      await polling.stop();
    },
  };
}
