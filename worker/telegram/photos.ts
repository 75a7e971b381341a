import type { JobKind } from "@atelier/server/engines";
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
import { speakIn, type Words } from "@atelier/server/words";
import { type Bot, type Buttons, type Speaker, speakTo, waitAfter } from "./bot.ts";
import { agreementOf, priceButtons, start, type Started, type Task, type Wish } from "./start.ts";

type Press = Extract<BotUpdate, { readonly type: "press" }>;

/** What can be done with one picture and nothing else. */
const choices = ["remove_background", "upscale", "restore_faces"] as const satisfies readonly JobKind[];

/** Asks what to do with pictures that have arrived, or does what their caption says; true when more are expected soon. */
export async function askDue(bot: Bot): Promise<boolean> {
  const { due, awaitsMore } = await findDueRequests(bot.services);
  for (const request of due) {
    const speaker = await speakTo(bot, request.userId);
    const againMs = await speakIn(speaker.words, () => ask(speaker, request)).then(
      () => null,
      async (error: unknown) => {
        if (bot.signal.aborted) throw error;
        const waitMs = waitAfter(error);
        if (waitMs !== null) return waitMs;
        bot.services.log.error({ err: error, requestId: request.id }, "a question of the bot was not asked");
        await bot.say(request.chatId, speaker.words.t("bot.sendLater"));
        return null;
      },
    );
    await noteAsked(bot.services, request.id, againMs);
  }
  return awaitsMore;
}

async function ask(bot: Speaker, request: PictureRequest): Promise<void> {
  const { words } = bot;
  const { photos, caption, chatId } = request;
  const user = await findLinkedUser(bot.services, chatId);
  // Unlinked, or linked to another account in the meantime.
  if (user?.userId !== request.userId) return;
  if (photos.length > 2) {
    await bot.ask(chatId, words.t("bot.many"));
    return endRequest(bot.services, request.id);
  }
  if (photos.length === 2) return bot.ask(chatId, words.t("bot.consent"), outfitButtons(words, request));
  const offered = await readOffered(bot);
  if (caption !== null && offered.has("edit")) {
    const task: Task = { kind: "edit", params: { prompt: caption } };
    const started = await start(bot, user, wishFor(request, task));
    return started.kind === "started" ? undefined : bot.ask(chatId, started.text, started.buttons);
  }
  return bot.ask(chatId, questionOf(words, caption, offered), choiceButtons(words, request, offered));
}

/** Kinds that a request can be made for now. */
async function readOffered({ services }: Bot): Promise<ReadonlyMap<JobKind, string | null>> {
  const { items } = await readCapabilities(services, { mayUseCloud: true });
  return new Map(items.filter(({ available }) => available).map(({ kind, reason }) => [kind, reason]));
}

type Offered = ReadonlyMap<JobKind, string | null>;

function questionOf({ t }: Words, caption: string | null, offered: Offered): string {
  const sentences = [
    ...(caption === null ? [] : [t("bot.noEdit")]),
    t("bot.whatToDo"),
    ...(offered.has("outfit_change") ? [t("bot.orGarment")] : []),
  ];
  return sentences.join(" ");
}

function choiceButtons({ t }: Words, { id }: PictureRequest, offered: Offered): Buttons {
  const kinds = choices.filter((kind) => offered.has(kind));
  return [
    ...kinds.map((kind) => [{ text: t(`jobs.kinds.${kind}`), data: `do:${id}:${kind}` }]),
    [{ text: t("bot.cancel"), data: `drop:${id}` }],
  ];
}

function outfitButtons({ t }: Words, { id }: PictureRequest): Buttons {
  return [
    [{ text: t("bot.confirmAndStart"), data: `go:${id}` }],
    [
      { text: t("bot.swap"), data: `swap:${id}` },
      { text: t("bot.cancel"), data: `drop:${id}` },
    ],
  ];
}

/** Answers a press on one of the buttons above; false when its request is over or unknown. */
export async function answerRequestPress(bot: Speaker, user: LinkedUser, press: Press): Promise<boolean> {
  const { services, words } = bot;
  const [verb = "", id = "", named = ""] = press.data.split(":");
  const request = await findRequest(services, { id, chatId: press.chatId, userId: user.userId });
  if (!request) return false;
  if (verb === "drop") {
    await endRequest(services, id);
    await bot.settle(press, words.t("bot.dropped"));
    return true;
  }
  if (verb === "swap") {
    await swapPictures(services, request);
    await bot.settle(press, swappedText(words, request), outfitButtons(words, request));
    return true;
  }
  if (verb === "pay" || verb === "own") return answerPay(bot, user, { press, request });
  const task = taskOf(verb, named, request);
  if (!task) return false;
  const started = await start(bot, user, wishFor(request, task));
  if (started.kind === "refused") {
    // The buttons stay after a refusal: the same press may succeed later.
    const buttons =
      verb === "go" ? outfitButtons(words, request) : choiceButtons(words, request, await readOffered(bot));
    await bot.settle(press, started.text, buttons);
  } else await settleStart(bot, press, started);
  return true;
}

/** Starts what the person agreed to pay for, or wants on the own machines. */
async function answerPay(
  bot: Speaker,
  user: LinkedUser,
  { press, request }: { readonly press: Press; readonly request: PictureRequest },
): Promise<true> {
  const offer = await findOffer(bot.services, request);
  if (!offer) {
    await endRequest(bot.services, request.id);
    await bot.settle(press, bot.words.t("bot.expired"));
    return true;
  }
  const [verb = "", , ...named] = press.data.split(":");
  const { kind, params, key } = offer;
  const agreed = verb === "pay" ? agreementOf(offer, named) : null;
  const wish = { ...wishFor(request, { kind, params }), key, ownOnly: verb === "own" };
  const started = await start(bot, user, { ...wish, ...(agreed ? { agreed } : {}) });
  await settleStart(
    bot,
    press,
    started.kind === "refused" ? { ...started, buttons: priceButtons(bot.words, request, offer) } : started,
  );
  return true;
}

async function settleStart(bot: Speaker, press: Press, started: Started): Promise<void> {
  if (started.kind === "started") return bot.settle(press, bot.words.t("bot.started"));
  await bot.settle(press, started.text, started.buttons);
}

function wishFor(request: PictureRequest, task: Task): Wish {
  return { chatId: request.chatId, request, task, key: `telegram ${request.id}` };
}

/** Telegram refuses an edit that changes nothing, and the order is what changed. */
function swappedText({ t }: Words, { photos }: PictureRequest): string {
  const [first, second] = photos;
  const isReversed = first !== undefined && second !== undefined && first.updateId < second.updateId;
  return t(isReversed ? "bot.consentSwapped" : "bot.consent");
}

function taskOf(verb: string, named: string, { photos }: PictureRequest): Task | null {
  if (verb === "go" && photos.length === 2) return { kind: "outfit_change", params: { consent: true } };
  const kind = choices.find((choice) => choice === named);
  return verb === "do" && kind && photos.length === 1 ? { kind, params: {} } : null;
}
