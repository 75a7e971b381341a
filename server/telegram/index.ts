/**
 * Telegram: a bot that delivers results to the private chats of users and takes jobs there.
 *
 *     (settings) ──createLink──▶ code ──openCode──▶ asked ──confirmLink──▶ linked ──unlink, unlinkChat──▶ (none)
 *                                  │                  │                       │
 *                                  └──15 minutes──────┴──refuseLink           └── gone: blocked, deleted
 *
 *     text, pictures ──addText, addPicture──▶ request ──(question, buttons; offerPrice: a price)──▶ job ──showJob──▶ job message ──endMessage──▶ delivery
 *
 * Terms. Bot: the account at Telegram that the token belongs to. Chat: a private one; groups are not answered. Link: the
 * pair of a user and a chat. Request: pictures of a chat, or a text, that one job is to be made of. Offer: the price that is
 * asked for before a request becomes a job that costs money. Job message: the message that is
 * edited with a job's progress. Poller: the one process of the installation that reads updates, by a lease.
 *
 * Rules. The token stands in every address of the Bot API, so no error of a call leaves this folder: `TelegramError` says
 * what it means. Codes are stored as hashes. No call is repeated unless Telegram refused it. An update may arrive twice:
 * whatever it causes is keyed by its number. Nothing of submitting jobs is known here; that is worker/telegram.
 */
export { telegramChannel } from "./channel.ts";
export { type Button, type OutgoingText, type Telegram, telegramOf } from "./client.ts";
export { TelegramError, type TelegramErrorKind } from "./errors.ts";
export {
  endMessage,
  findDueMessages,
  findJobsOf,
  type JobMessage,
  noteShown,
  postponeMessages,
  showJob,
} from "./job-messages.ts";
export {
  confirmLink,
  createLink,
  findLinkedUser,
  type LinkedUser,
  openCode,
  readTelegramState,
  refuseLink,
  unlink,
  unlinkChat,
} from "./links.ts";
export {
  beginUpdate,
  createPoller,
  endUpdate,
  holdPolling,
  type Poller,
  pruneTelegram,
  releasePolling,
  storeOffset,
} from "./poller.ts";
export {
  addPicture,
  addText,
  endRequest,
  endRequestsOf,
  findDueRequests,
  findOffer,
  findRequest,
  noteAsked,
  offerMinutes,
  offerPrice,
  type PictureRequest,
  type PriceOffer,
  swapPictures,
} from "./requests.ts";
export type { BotUpdate } from "./updates.ts";
