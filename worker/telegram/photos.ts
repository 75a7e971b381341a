import type { JobKind } from "@atelier/server/engines";
import { titleOfKind } from "@atelier/server/deliveries";
import { readCapabilities } from "@atelier/server/jobs";
import {
  type BotUpdate,
  endRequest,
  findDueRequests,
  findLinkedUser,
  findOffer,
  findRequest,
  type LinkedUser,
  noteAsked,
  type PictureRequest,
  swapPictures,
} from "@atelier/server/telegram";
import type { Bot, Buttons } from "./bot.ts";
import { agreementOf, priceButtons, start, type Started, type Task, type Wish } from "./start.ts";

type Press = Extract<BotUpdate, { readonly type: "press" }>;

/** What can be done with one picture and nothing else. */
const choices = ["remove_background", "upscale", "restore_faces"] as const satisfies readonly JobKind[];

const texts = {
  many: "Send one photo, or two to change an outfit: the person first, then the garment.",
  consent:
    "Change the outfit: the first photo shows the person, the second the garment. By starting you confirm that the photo shows an adult who agrees to this.",
  started: "Started.",
  dropped: "Dropped.",
  failed: "Something went wrong on our side. Send the picture again later.",
  expired: "This price was asked about too long ago. Send it again to get a new one.",
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
    const task: Task = { kind: "edit", params: { prompt: caption } };
    const started = await start(bot, user, wishFor(request, task));
    return started.kind === "started" ? undefined : bot.say(chatId, started.text, started.buttons);
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
  if (verb === "pay" || verb === "own") return answerPay(bot, user, { press, request });
  const task = taskOf(verb, named, request);
  if (!task) return false;
  const started = await start(bot, user, wishFor(request, task));
  if (started.kind === "refused") {
    // The buttons stay after a refusal: the same press may succeed later.
    const buttons = verb === "go" ? outfitButtons(request) : choiceButtons(request, await readOffered(bot));
    await bot.settle(press, started.text, buttons);
  } else await settleStart(bot, press, started);
  return true;
}

/** Starts what the person agreed to pay for, or wants on the own machines. */
async function answerPay(
  bot: Bot,
  user: LinkedUser,
  { press, request }: { readonly press: Press; readonly request: PictureRequest },
): Promise<true> {
  const offer = await findOffer(bot.services, request);
  if (!offer) {
    await endRequest(bot.services, request.id);
    await bot.settle(press, texts.expired);
    return true;
  }
  const [verb = "", , named = ""] = press.data.split(":");
  const { kind, params, key } = offer;
  const agreed = verb === "pay" ? agreementOf(offer, named) : null;
  const wish = { ...wishFor(request, { kind, params }), key, ownOnly: verb === "own" };
  const started = await start(bot, user, { ...wish, ...(agreed ? { agreed } : {}) });
  await settleStart(
    bot,
    press,
    started.kind === "refused" ? { ...started, buttons: priceButtons(request, offer) } : started,
  );
  return true;
}

async function settleStart(bot: Bot, press: Press, started: Started): Promise<void> {
  if (started.kind === "started") return bot.settle(press, texts.started);
  await bot.settle(press, started.text, started.buttons);
}

function wishFor(request: PictureRequest, task: Task): Wish {
  return { chatId: request.chatId, request, task, key: `telegram ${request.id}` };
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
