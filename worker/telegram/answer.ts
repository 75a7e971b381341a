import { cancel, list, readCapabilities, readWaiting } from "@atelier/server/jobs";
import { sourceLocale } from "@atelier/server/locales";
import { toAppError } from "@atelier/server/platform";
import {
  addPicture,
  type BotUpdate,
  confirmLink,
  endRequestsOf,
  findJobsOf,
  findLinkedUser,
  type LinkedUser,
  openCode,
  refuseLink,
  unlinkChat,
} from "@atelier/server/telegram";
import { sentenceOf, speakIn, wordsIn } from "@atelier/server/words";
import { type Bot, type Speaker, speakTo } from "./bot.ts";
import { answerRequestPress } from "./photos.ts";
import { describeJob } from "./progress.ts";
import { start, type Task } from "./start.ts";

type Answered = Exclude<BotUpdate, { readonly type: "foreign" }>;
type TextUpdate = Extract<BotUpdate, { readonly type: "text" }>;
type Press = Extract<BotUpdate, { readonly type: "press" }>;

/**
 * Answers an update. It may run twice for the same one, so everything that lasts is keyed by the update or its request;
 * only a reply can be seen twice.
 */
export async function answer(bot: Bot, update: Answered): Promise<void> {
  const { services } = bot;
  if (update.type === "blocked") {
    await unlinkChat(services, update.chatId);
    return;
  }
  if (update.type === "press" && /^(?:yes|no):/.test(update.data)) return answerLinkPress(bot, update);
  if (update.type === "text" && isCommand(update, "start")) return answerStart(bot, update);
  const user = await findLinkedUser(services, update.chatId);
  if (!user) {
    const { t } = await wordsIn(update.locale ?? sourceLocale);
    if (update.type === "press") return bot.settle(update, t("bot.unlinked"));
    return bot.say(update.chatId, t("bot.unlinked"));
  }
  const speaker = await speakTo(bot, user.userId);
  return speakIn(speaker.words, () => answerUser(speaker, user, update));
}

async function answerUser(
  bot: Speaker,
  user: LinkedUser,
  update: Exclude<Answered, { readonly type: "blocked" }>,
): Promise<void> {
  const { services } = bot;
  switch (update.type) {
    case "text":
      return answerText(bot, user, update);
    case "picture":
      return addPicture(services, {
        ...update,
        updateId: update.id,
        userId: user.userId,
        name: update.fileName,
      });
    case "press":
      return answerPress(bot, user, update);
    case "other":
      return bot.say(update.chatId, bot.words.t("bot.onlyPictures"));
  }
}

/** In groups and menus the bot's name may follow: /start@studio_bot. */
const commandPattern = /^\/(\w+)(?:@\w+)?(?:\s+(.*))?$/s;

function isCommand({ text }: TextUpdate, name: string): boolean {
  return commandPattern.exec(text)?.[1] === name;
}

async function answerStart(bot: Bot, { chatId, text, locale }: TextUpdate): Promise<void> {
  const code = commandPattern.exec(text)?.[2]?.trim() ?? "";
  const { t } = await wordsIn(locale ?? sourceLocale);
  if (code === "") {
    const user = await findLinkedUser(bot.services, chatId);
    if (!user) return bot.say(chatId, t("bot.unlinked"));
    const { words } = await speakTo(bot, user.userId);
    return bot.say(chatId, words.t("bot.help"));
  }
  const question = await openCode(bot.services, { code, chatId });
  if (!question) return bot.say(chatId, t("bot.badCode"));
  const { codeId, account, words } = question;
  await bot.say(chatId, words.t("bot.question", { account }), [
    [
      { text: words.t("bot.confirm"), data: `yes:${codeId}` },
      { text: words.t("bot.cancel"), data: `no:${codeId}` },
    ],
  ]);
}

async function answerLinkPress(bot: Bot, press: Press): Promise<void> {
  const { chatId, name, data, locale } = press;
  const { t } = await wordsIn(locale ?? sourceLocale);
  const codeId = data.slice(data.indexOf(":") + 1);
  if (data.startsWith("no:")) {
    await refuseLink(bot.services, { codeId, chatId });
    return bot.settle(press, t("bot.notLinked"));
  }
  const isNew = await confirmLink(bot.services, { codeId, chatId, name });
  // The same press again after a crash: the first one linked the chat.
  const user = await findLinkedUser(bot.services, chatId);
  if (!user) return bot.settle(press, t("bot.badCode"));
  const { words } = await speakTo(bot, user.userId);
  await bot.settle(press, words.t("bot.linked"));
  if (isNew) await bot.say(chatId, words.t("bot.help"));
}

async function answerText(bot: Speaker, user: LinkedUser, update: TextUpdate): Promise<void> {
  const { chatId } = update;
  switch (commandPattern.exec(update.text)?.[1]) {
    case undefined:
      return submitText(bot, user, update);
    case "stop":
      await unlinkChat(bot.services, chatId);
      return bot.say(chatId, bot.words.t("bot.stopped"));
    case "status":
      return bot.say(chatId, await readStatus(bot, user));
    case "cancel":
      return bot.say(chatId, await cancelOf(bot, user, chatId));
    default:
      return bot.say(chatId, bot.words.t("bot.help"));
  }
}

const shownJobs = 10;

async function readStatus({ services, words }: Speaker, { userId: ownerId }: LinkedUser): Promise<string> {
  const { items } = await list(services, { ownerId, status: "open", limit: shownJobs });
  if (items.length === 0) return words.t("bot.noJobs");
  const { items: waiting } = await readWaiting(services, ownerId);
  const byId = new Map(waiting.map((job) => [job.id, job]));
  return items.map((job) => describeJob(words, job, byId.get(job.id))).join("\n");
}

/** Cancels the open jobs that were started in the chat, and drops what was being asked there. */
async function cancelOf(
  { services, words: { t } }: Speaker,
  { userId }: LinkedUser,
  chatId: string,
): Promise<string> {
  const dropped = await endRequestsOf(services, chatId);
  const jobs = (await findJobsOf(services, chatId)).filter(({ ownerId }) => ownerId === userId);
  let cancelled = 0;
  for (const { jobId: id, ownerId } of jobs)
    if ((await cancel(services, { ownerId, id })).cancelled) cancelled += 1;
  if (cancelled > 0) return t("bot.cancelled", { count: cancelled });
  return t(dropped > 0 ? "bot.dropped" : "bot.nothingToCancel");
}

/** A text alone is the prompt of a picture. */
async function submitText(bot: Speaker, user: LinkedUser, { id, chatId, text }: TextUpdate): Promise<void> {
  const { services, telegram, words } = bot;
  const { items } = await readCapabilities(services, { mayUseCloud: true });
  const capability = items.find(({ kind }) => kind === "text_to_image");
  if (!capability?.available)
    return bot.say(chatId, `${capability?.reason ?? words.t("bot.noTextToImage")}\n\n${words.t("bot.help")}`);
  const task: Task = { kind: "text_to_image", params: { prompt: text } };
  const key = `telegram ${telegram.botId} ${id}`;
  const started = await start(bot, user, { chatId, request: null, task, key });
  if (started.kind !== "started") await bot.say(chatId, started.text, started.buttons);
}

async function answerPress(bot: Speaker, user: LinkedUser, press: Press): Promise<void> {
  const { words } = bot;
  const [verb = "", id = ""] = press.data.split(":");
  if (verb === "stop") {
    const said = await cancel(bot.services, { ownerId: user.userId, id }).then(
      ({ cancelled }) => words.t(cancelled ? "bot.cancelling" : "bot.ended"),
      (error: unknown) => sentenceOf(words, toAppError(error)),
    );
    // The message itself is edited with the job's progress.
    return bot.note(press, said);
  }
  // A second press finds the request ended: the message shows what came of the first one.
  if (!(await answerRequestPress(bot, user, press))) await bot.note(press, words.t("bot.tooOld"));
}
