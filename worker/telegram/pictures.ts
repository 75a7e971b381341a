import type { JobKind } from "@atelier/server/engines";
import { titleOfKind } from "@atelier/server/deliveries";
import { ingest } from "@atelier/server/images";
import { readCapabilities, submit } from "@atelier/server/jobs";
import { toAppError } from "@atelier/server/platform";
import {
  type BotUpdate,
  endRequest,
  findDueRequests,
  findLinkedUser,
  findRequest,
  type LinkedUser,
  noteAsked,
  type PictureRequest,
  showJob,
  swapPictures,
  TelegramError,
} from "@atelier/server/telegram";
import type { Bot, Buttons } from "./bot.ts";

type Press = Extract<BotUpdate, { readonly type: "press" }>;

/** What can be done with one picture and nothing else. */
const choices = ["remove_background", "upscale", "restore_faces"] as const satisfies readonly JobKind[];
type Choice = (typeof choices)[number];

/** What a job is to be made of pictures: kind and params. */
type Task =
  | { readonly kind: Choice; readonly params: Record<string, never> }
  | { readonly kind: "edit"; readonly params: { readonly prompt: string } }
  | { readonly kind: "outfit_change"; readonly params: { readonly consent: true } };

const texts = {
  many: "Send one photo, or two to change an outfit: the person first, then the garment.",
  consent:
    "Change the outfit: the first photo shows the person, the second the garment. By starting you confirm that the photo shows an adult who agrees to this.",
  started: "Started.",
  dropped: "Dropped.",
  tooLarge: "The picture is larger than 20 MB, which is the most that bots can read. Use the website for it.",
  failed: "Something went wrong on our side. Send the picture again later.",
  unread: "Telegram did not give the picture. Send it again.",
};

/** Asks what to do with pictures that have arrived, or does what their caption says; true when more are expected soon. */
export async function askDue(bot: Bot): Promise<boolean> {
  const { due, awaitsMore } = await findDueRequests(bot.services);
  for (const request of due) {
    await ask(bot, request).catch(async (error: unknown) => {
      if (bot.signal.aborted) throw error;
      bot.services.log.error({ err: error, requestId: request.id }, "a question of the bot was not asked");
      await bot.say(request.chatId, texts.failed);
    });
    await noteAsked(bot.services, request.id);
  }
  return awaitsMore;
}

async function ask(bot: Bot, request: PictureRequest): Promise<void> {
  const { photos, caption, chatId } = request;
  const user = await findLinkedUser(bot.services, chatId);
  // Unlinked, or linked to another account in the meantime.
  if (user?.userId !== request.userId) return;
  if (photos.length > 2) {
    await endRequest(bot.services, request.id);
    return bot.say(chatId, texts.many);
  }
  if (photos.length === 2) return bot.say(chatId, texts.consent, outfitButtons(request));
  const offered = await readOffered(bot);
  if (caption !== null && offered.has("edit")) {
    const failure = await start(bot, user, { request, task: { kind: "edit", params: { prompt: caption } } });
    return failure === null ? undefined : bot.say(chatId, failure);
  }
  return bot.say(chatId, questionOf(caption, offered), choiceButtons(request, offered));
}

/** Kinds that a request can be made for now. */
async function readOffered({ services }: Bot): Promise<ReadonlyMap<JobKind, string | null>> {
  const { items } = await readCapabilities(services, { mayUseCloud: true });
  return new Map(items.filter(({ available }) => available).map(({ kind, reason }) => [kind, reason]));
}

function questionOf(caption: string | null, offered: ReadonlyMap<JobKind, string | null>): string {
  const sorry = caption === null ? "" : "Edit with a prompt is not available in this studio at the moment. ";
  const outfit = offered.has("outfit_change")
    ? " To change an outfit, send the photo of the garment now: this one is then the person."
    : "";
  return `${sorry}What is to be done with the picture?${outfit}`;
}

function choiceButtons({ id }: PictureRequest, offered: ReadonlyMap<JobKind, string | null>): Buttons {
  const kinds = choices.filter((kind) => offered.has(kind));
  return [
    ...kinds.map((kind) => [{ text: titleOfKind(kind), data: `do:${id}:${kind}` }]),
    [{ text: "Cancel", data: `drop:${id}` }],
  ];
}

function outfitButtons({ id }: PictureRequest): Buttons {
  return [
    [{ text: "Confirm and start", data: `go:${id}` }],
    [
      { text: "Swap the photos", data: `swap:${id}` },
      { text: "Cancel", data: `drop:${id}` },
    ],
  ];
}

/** Answers a press on one of the buttons above; false when its request is over or unknown. */
export async function answerRequestPress(bot: Bot, user: LinkedUser, press: Press): Promise<boolean> {
  const { services } = bot;
  const [verb = "", id = "", named = ""] = press.data.split(":");
  const request = await findRequest(services, { id, chatId: press.chatId, userId: user.userId });
  if (!request) return false;
  if (verb === "drop") {
    await endRequest(services, id);
    await bot.settle(press, texts.dropped);
    return true;
  }
  if (verb === "swap") {
    await swapPictures(services, request);
    await bot.settle(press, swappedText(request), outfitButtons(request));
    return true;
  }
  const task = taskOf(verb, named, request);
  if (!task) return false;
  const failure = await start(bot, user, { request, task });
  const buttons = verb === "go" ? outfitButtons(request) : choiceButtons(request, await readOffered(bot));
  // The buttons stay after a refusal: the same press may succeed later.
  await (failure === null ? bot.settle(press, texts.started) : bot.settle(press, failure, buttons));
  return true;
}

/** Telegram refuses an edit that changes nothing, and the order is what changed. */
function swappedText({ photos }: PictureRequest): string {
  const [first, second] = photos;
  const isReversed = first !== undefined && second !== undefined && first.updateId < second.updateId;
  return isReversed
    ? texts.consent.replace(
        "first photo shows the person, the second",
        "second photo shows the person, the first",
      )
    : texts.consent;
}

function taskOf(verb: string, named: string, { photos }: PictureRequest): Task | null {
  if (verb === "go" && photos.length === 2) return { kind: "outfit_change", params: { consent: true } };
  const kind = choices.find((choice) => choice === named);
  return verb === "do" && kind && photos.length === 1 ? { kind, params: {} } : null;
}

/**
 * Takes in the pictures and submits the job; returns null, or the sentence why not. The key makes it one job however often
 * this runs: the same bytes are the same picture of the account, so the request is the same as well.
 */
async function start(
  bot: Bot,
  user: LinkedUser,
  { request, task }: { readonly request: PictureRequest; readonly task: Task },
): Promise<string | null> {
  const { services } = bot;
  try {
    const roles = task.kind === "outfit_change" ? ["person", "garment"] : ["image"];
    const inputs: Record<string, string> = {};
    for (const [at, role] of roles.entries()) inputs[role] = await takeIn(bot, user, request.photos[at]);
    const idempotencyKey = `telegram ${request.id}`;
    const job = await submit(services, { ...task, inputs }, { submitter: user, idempotencyKey });
    await showJob(services, { jobId: job.id, chatId: request.chatId });
    await endRequest(services, request.id);
    return null;
  } catch (error) {
    return sentenceOf(error);
  }
}

async function takeIn(
  { services, telegram, signal }: Bot,
  { userId: ownerId }: LinkedUser,
  photo: PictureRequest["photos"][number] | undefined,
): Promise<string> {
  if (!photo) throw new Error("the request has fewer pictures than its task needs");
  const bytes = await telegram.download(photo.fileId, signal);
  const image = await ingest(services, {
    ownerId,
    role: "upload",
    bytes,
    name: photo.name ?? undefined,
    signal,
  });
  return image.id;
}

/** The product's own sentence for a refusal; throws what is none, so that the update is tried again. */
function sentenceOf(error: unknown): string {
  if (error instanceof TelegramError) return error.kind === "size" ? texts.tooLarge : texts.unread;
  const { code, message } = toAppError(error);
  if (code === "internal" || code === "database_unavailable") throw error;
  return message;
}
