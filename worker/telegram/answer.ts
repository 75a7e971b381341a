import { cancel, list, readCapabilities, readWaiting } from "@atelier/server/jobs";
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
import type { Bot } from "./bot.ts";
import { answerRequestPress } from "./photos.ts";
import { describeJob } from "./progress.ts";
import { start, type Task } from "./start.ts";

type Answered = Exclude<BotUpdate, { readonly type: "foreign" }>;
type TextUpdate = Extract<BotUpdate, { readonly type: "text" }>;
type Press = Extract<BotUpdate, { readonly type: "press" }>;

const texts = {
  help: [
    "Send a photo with what to change as its caption, or without one to choose what to do.",
    "Send two photos, the person first and then the garment, to change an outfit.",
    "Send a text to get a picture of it.",
    "",
    "/status shows your jobs, /cancel cancels those of this chat, /stop unlinks it.",
  ].join("\n"),
  unlinked:
    "This chat is not linked to an account. Open the settings of the studio and choose Link Telegram.",
  badCode: "This link is too old or was used. Make another one in the settings of the studio.",
  linked: "Linked. Results of your jobs come here from now on.",
  notLinked: "Nothing was linked.",
  stopped: "This chat is no longer linked, and nothing more is sent here.",
  tooOld: "This was done already, or it is too old.",
  cancelling: "Cancelling",
  ended: "The job has ended.",
  onlyPictures: "I can read text and pictures: photos, or files that are pictures.",
};

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
    if (update.type === "press") return bot.settle(update, texts.unlinked);
    return bot.say(update.chatId, texts.unlinked);
  }
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
      return bot.say(update.chatId, texts.onlyPictures);
  }
}

/** In groups and menus the bot's name may follow: /start@studio_bot. */
const commandPattern = /^\/(\w+)(?:@\w+)?(?:\s+(.*))?$/s;

function isCommand({ text }: TextUpdate, name: string): boolean {
  return commandPattern.exec(text)?.[1] === name;
}

async function answerStart(bot: Bot, { chatId, text }: TextUpdate): Promise<void> {
  const code = commandPattern.exec(text)?.[2]?.trim() ?? "";
  if (code === "") {
    const user = await findLinkedUser(bot.services, chatId);
    return bot.say(chatId, user ? texts.help : texts.unlinked);
  }
  const question = await openCode(bot.services, { code, chatId });
  if (!question) return bot.say(chatId, texts.badCode);
  const { codeId, account } = question;
  await bot.say(
    chatId,
    `Link this chat to the account ${account}? Its results come here, and what you send here becomes jobs of that account. Confirm only if the account is yours.`,
    [
      [
        { text: "Confirm", data: `yes:${codeId}` },
        { text: "Cancel", data: `no:${codeId}` },
      ],
    ],
  );
}

async function answerLinkPress(bot: Bot, press: Press): Promise<void> {
  const { chatId, name, data } = press;
  const codeId = data.slice(data.indexOf(":") + 1);
  if (data.startsWith("no:")) {
    await refuseLink(bot.services, { codeId, chatId });
    return bot.settle(press, texts.notLinked);
  }
  if (await confirmLink(bot.services, { codeId, chatId, name })) {
    await bot.settle(press, texts.linked);
    return bot.say(chatId, texts.help);
  }
  // The same press again after a crash: the first one linked the chat.
  const user = await findLinkedUser(bot.services, chatId);
  return bot.settle(press, user ? texts.linked : texts.badCode);
}

async function answerText(bot: Bot, user: LinkedUser, update: TextUpdate): Promise<void> {
  const { chatId } = update;
  switch (commandPattern.exec(update.text)?.[1]) {
    case undefined:
      return submitText(bot, user, update);
    case "stop":
      await unlinkChat(bot.services, chatId);
      return bot.say(chatId, texts.stopped);
    case "status":
      return bot.say(chatId, await readStatus(bot, user));
    case "cancel":
      return bot.say(chatId, await cancelOf(bot, user, chatId));
    default:
      return bot.say(chatId, texts.help);
  }
}

const shownJobs = 10;

async function readStatus({ services }: Bot, { userId: ownerId }: LinkedUser): Promise<string> {
  const { items } = await list(services, { ownerId, status: "open", limit: shownJobs });
  if (items.length === 0) return "You have no open jobs.";
  const { items: waiting } = await readWaiting(services, ownerId);
  const byId = new Map(waiting.map((job) => [job.id, job]));
  return items.map((job) => describeJob(job, byId.get(job.id))).join("\n");
}

/** Cancels the open jobs that were started in the chat, and drops what was being asked there. */
async function cancelOf({ services }: Bot, { userId }: LinkedUser, chatId: string): Promise<string> {
  const dropped = await endRequestsOf(services, chatId);
  const jobs = (await findJobsOf(services, chatId)).filter(({ ownerId }) => ownerId === userId);
  let cancelled = 0;
  for (const { jobId: id, ownerId } of jobs)
    if ((await cancel(services, { ownerId, id })).cancelled) cancelled += 1;
  if (cancelled > 0) return cancelled === 1 ? "The job is cancelled." : `${cancelled} jobs are cancelled.`;
  return dropped > 0 ? "Dropped." : "There is nothing to cancel in this chat.";
}

/** A text alone is the prompt of a picture. */
async function submitText(bot: Bot, user: LinkedUser, { id, chatId, text }: TextUpdate): Promise<void> {
  const { services, telegram } = bot;
  const { items } = await readCapabilities(services, { mayUseCloud: true });
  const capability = items.find(({ kind }) => kind === "text_to_image");
  if (!capability?.available)
    return bot.say(chatId, `${capability?.reason ?? "Text to image is not available."}\n\n${texts.help}`);
  const task: Task = { kind: "text_to_image", params: { prompt: text } };
  const key = `telegram ${telegram.botId} ${id}`;
  const started = await start(bot, user, { chatId, request: null, task, key });
  if (started.kind !== "started") await bot.say(chatId, started.text, started.buttons);
}

async function answerPress(bot: Bot, user: LinkedUser, press: Press): Promise<void> {
  const [verb = "", id = ""] = press.data.split(":");
  if (verb === "stop") {
    const said = await cancel(bot.services, { ownerId: user.userId, id }).then(
      ({ cancelled }) => (cancelled ? texts.cancelling : texts.ended),
      (error: unknown) => toAppError(error).message,
    );
    // The message itself is edited with the job's progress.
    return bot.note(press, said);
  }
  // A second press finds the request ended: the message shows what came of the first one.
  if (!(await answerRequestPress(bot, user, press))) await bot.note(press, texts.tooOld);
}
