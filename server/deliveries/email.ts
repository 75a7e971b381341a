import { isIP } from "node:net";
import os from "node:os";
import { buffer } from "node:stream/consumers";
import { eq } from "drizzle-orm";
import type { SendMailOptions } from "nodemailer";
import { type AccountNotice, schema } from "../db/index.ts";
import { keyRights, signsInByPassword, wordsFor } from "../accounts/plain.ts";
import { openFile } from "../images/index.ts";
import { AppError, type Env } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { Words } from "../words.ts";
import { type Channel, DeliveryError, type OwedDelivery } from "./channel.ts";
import { linkTo, type MessageJob, readMessageJob } from "./message.ts";

/** Limits of one step of the conversation with the mail server. */
const connectMs = 10_000;
const stepMs = 30_000;

/** E-mail about completed jobs, to the confirmed address of an account, and about changes of the account. */
export const emailChannel: Channel = {
  name: "email",
  async send(services, delivery, signal) {
    await requireOwnAddress(services, delivery);
    const notice = await readNotice(services, delivery);
    if (notice) {
      const [words, isPasswordOffered] = await Promise.all([
        wordsFor(services, delivery.ownerId),
        signsInByPassword(services, delivery.ownerId),
      ]);
      const url = linkTo(services, "/settings");
      const told: SendMailOptions = {
        ...describeChange(words, notice, { isPasswordOffered, url }),
        to: delivery.target,
        messageId: messageIdOf(services.env, delivery),
      };
      return { externalId: await sendMail(services.env, told, signal) };
    }
    const job = await readMessageJob(services, delivery);
    const words = await wordsFor(services, delivery.ownerId);
    const picture = await readThumbnail(services, delivery, job);
    const mail: SendMailOptions = {
      to: delivery.target,
      subject: words.t("mails.done.subject", { kind: words.t(`jobs.kinds.${job.kind}`) }),
      text: textOf(words, job),
      // The same in each attempt: mail programs show a repetition once.
      messageId: messageIdOf(services.env, delivery),
      attachments: picture ? [{ filename: "result.webp", content: picture, contentType: "image/webp" }] : [],
    };
    return { externalId: await sendMail(services.env, mail, signal) };
  },
};

/** In the sender's domain: filters distrust a name that is no host's. */
function messageIdOf({ SMTP_FROM: from = "" }: Pick<Env, "SMTP_FROM">, { id }: OwedDelivery): string {
  return `<${id}@${/([^@>]*)>?$/.exec(from)?.[1] || "atelier"}>`;
}

function textOf({ t }: Words, { kind, url, outputs }: MessageJob): string {
  const pictures = outputs.length === 0 ? "" : ` ${t("mails.done.pictures", { count: outputs.length })}`;
  const done = t("mails.done.text", { kind: t(`jobs.kinds.${kind}`) });
  return `${done}${pictures}\n\n${url}\n\n${t("mails.done.why")}\n`;
}

async function readNotice({ db }: Services, { id, event }: OwedDelivery): Promise<AccountNotice | null> {
  if (event !== "account.changed") return null;
  const { deliveries } = schema;
  const [row] = await db.select({ notice: deliveries.notice }).from(deliveries).where(eq(deliveries.id, id));
  return row?.notice ?? null;
}

interface Advice {
  /** The user signs in with a password, so a new one helps. */
  readonly isPasswordOffered: boolean;
  readonly url: string;
}

/**
 * What changed, when, from where, and what to do. No secret, and no name that a person chose. Throws a `DeliveryError` for a change that only a
 * newer version has words for: its worker sends the mail.
 */
function describeChange({ t, format }: Words, notice: AccountNotice, { isPasswordOffered, url }: Advice) {
  if (!t.has(`mails.change.what.${notice.what}`))
    throw new DeliveryError("retry", "This worker is too old to tell this change of an account.");
  const what = t(`mails.change.what.${notice.what}`);
  const when = format.dateTime(new Date(notice.at), { dateStyle: "long", timeStyle: "short" });
  const device = [notice.browser, notice.system, notice.address].filter((part) => part !== null).join(", ");
  const lines = [
    t("mails.change.text", { what, when }),
    ...(notice.by === "admin" ? [t("mails.change.byAdmin")] : []),
    ...(device === "" ? [] : [t("mails.change.from", { device })]),
    ...(notice.key ? describeKey({ t, format }, notice.key) : []),
    "",
    t("mails.change.yours"),
    "",
    t(`mails.change.${isPasswordOffered ? "other" : "otherWithoutPassword"}`),
    "",
    url,
  ];
  return { subject: what, text: `${lines.join("\n")}\n` };
}

function describeKey({ t, format }: Pick<Words, "t" | "format">, key: NonNullable<AccountNotice["key"]>) {
  const held = keyRights.filter((right) => key.rights?.includes(right));
  const rights = held.map((right) => t(`apiKeys.rights.${right}`)).join(", ");
  const day = key.endsAt === null ? null : format.dateTime(new Date(key.endsAt), { dateStyle: "long" });
  return [
    key.rights === null ? t("mails.change.keyMayAll") : t("mails.change.keyMay", { rights }),
    day === null ? t("mails.change.keyStays") : t("mails.change.keyEnds", { day }),
  ];
}

/** The address may have been changed since it was confirmed. */
async function requireOwnAddress({ db }: Services, { ownerId, target }: OwedDelivery): Promise<void> {
  const { users } = schema;
  const [user] = await db.select({ email: users.email }).from(users).where(eq(users.id, ownerId));
  if (user?.email !== target) throw new DeliveryError("gone", "The address is no longer the account's.");
}

/** The small variant of the first picture; null when there is none, since the message is worth sending all the same. */
async function readThumbnail(
  services: Services,
  { ownerId }: OwedDelivery,
  { outputs: [first] }: MessageJob,
): Promise<Buffer | null> {
  if (!first) return null;
  try {
    const { body } = await openFile(services, { ownerId, id: first.imageId, variant: "thumbnail" });
    return body ? await buffer(body) : null;
  } catch (error) {
    services.log.warn({ err: error, imageId: first.imageId }, "the picture of an e-mail could not be read");
    return null;
  }
}

type MailEnv = Pick<Env, "SMTP_URL" | "SMTP_FROM" | "APP_URL">;

/**
 * How this machine names itself to mail servers, of which some refuse a name without a domain, as containers have. An own
 * one in the address (`?name=`) comes before it.
 */
function nameOfMachine({ APP_URL: appUrl }: MailEnv): string | undefined {
  const host = appUrl === undefined ? "" : new URL(appUrl).hostname;
  return os.hostname().includes(".") || isIP(host) !== 0 || !/[^.]\.[a-z]/.test(host) ? undefined : host;
}

/** The mail server, unused as yet. Loaded late: most processes never send any. */
export async function openTransport(env: MailEnv, limits = { connectMs, stepMs, requireTLS: false }) {
  const { createTransport } = await import("nodemailer");
  const name = nameOfMachine(env);
  return createTransport({
    ...(env.SMTP_URL === undefined ? {} : { url: env.SMTP_URL }),
    ...(name === undefined ? {} : { name }),
    connectionTimeout: limits.connectMs,
    greetingTimeout: limits.connectMs,
    socketTimeout: limits.stepMs,
    requireTLS: limits.requireTLS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** RFC 3834, and Exchange's own: no answer of an absent reader comes to the sender. */
const headers = { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "OOF, AutoReply" };

/** Sends one e-mail and returns its id. Throws a `DeliveryError`; the texts of the mail server are not repeated in it. */
export async function sendMail(env: MailEnv, mail: SendMailOptions, signal: AbortSignal): Promise<string> {
  const { SMTP_FROM: from } = env;
  if (env.SMTP_URL === undefined || from === undefined)
    throw new DeliveryError("retry", "This studio sends no e-mail at the moment.");
  const transport = await openTransport(env);
  const onAbort = () => transport.close();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const sent = await transport.sendMail({ ...mail, from, headers });
    return sent.messageId;
  } catch (error) {
    throw toDeliveryError(error);
  } finally {
    signal.removeEventListener("abort", onAbort);
    transport.close();
  }
}

/** What a server refuses before it has heard of the reader is a matter of the sign-in or the sender: the operator's. */
const isOfMessage = (error: unknown) =>
  error instanceof Error && "command" in error && /^(?:RCPT TO|DATA)$/.test(String(error.command));

/**
 * RFC 5321: 5xx is final for this message, 4xx is not. RFC 3463: 5.1.1 and its neighbours name a bad mailbox, as do 5.1.10
 * (Exchange, RFC 7505) and 5.2.1 (a disabled one, but with Gmail also one that gets too much at the moment).
 */
function toDeliveryError(error: unknown): DeliveryError {
  const status = readNumber(error, "responseCode");
  const text = error instanceof Error && "response" in error ? String(error.response) : "";
  const isFlooded = /ReceivingRate|at a\s+rate/i.test(text);
  if (!isOfMessage(error) || status === null || status < 500 || isFlooded)
    return new DeliveryError("retry", "The mail server could not be used.", { cause: error, status });
  if (/(?<![\d.])5\.(?:1\.(?:[1236]|10)|2\.1)(?![\d.]*\d)/.test(text))
    return new DeliveryError("gone", "The mail server does not know the address.", { cause: error, status });
  return new DeliveryError("refused", `The mail server refused the message with ${status}.`, {
    cause: error,
    status,
  });
}

function readNumber(error: unknown, name: string): number | null {
  const value: unknown =
    error instanceof Error ? Object.entries(error).find(([key]) => key === name)?.[1] : null;
  return typeof value === "number" ? value : null;
}

const codeMs = 20_000;

interface Code {
  readonly to: string;
  readonly code: string;
}

/** Sends the code that confirms an address. Throws `internal` when the mail server cannot be used. */
export async function sendCode({ env, log }: Services, { t }: Words, { to, code }: Code): Promise<void> {
  const mail: SendMailOptions = {
    to,
    subject: t("mails.code.subject", { code }),
    text: `${t("mails.code.text", { code })}\n`,
  };
  try {
    await sendMail(env, mail, AbortSignal.timeout(codeMs));
  } catch (error) {
    log.warn({ err: error }, "a code could not be sent");
    const message = error instanceof DeliveryError ? error.message : undefined;
    throw new AppError("internal", message, { cause: error });
  }
}
