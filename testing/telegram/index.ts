/** A simulated server of Telegram's Bot API with people who write to the bot; for tests and for trying it by hand. */
export { type BotApi, startBotApi } from "./bot-api.ts";
export { until } from "./rules.ts";
export {
  cheapenOffers,
  noteSeen,
  codeOf,
  countConsents,
  expireOffers,
  forgetHandled,
  jobsOf,
  linkOwner,
  photo,
  readHolder,
  rolesOf,
  setProgress,
  startJob,
  type Picture,
} from "./scene.ts";
export type { Person } from "./people.ts";
