import { GrammyError } from "grammy";

/**
 * `rate`: Telegram refused it for now; `gone`: the chat cannot be written to any more; `moved`: the chat has another id;
 * `size`: the file is no photo for Telegram; `unchanged`: the message shows that already; `missing`: the message or the
 * pressed button is too old; `token`: the bot's token is not valid; `conflict`: another process reads the updates;
 * `webhook`: the bot has a webhook, so nothing is given to a reader;
 * `refused`: any other refusal; `unknown`: no answer, so it may have been done.
 */
export type TelegramErrorKind =
  | "rate"
  | "gone"
  | "moved"
  | "size"
  | "unchanged"
  | "missing"
  | "token"
  | "conflict"
  | "webhook"
  | "refused"
  | "unknown";

interface Facts {
  readonly status: number | null;
  /** Of `rate`. */
  readonly retryAfterMs: number | null;
  /** Of `moved`. */
  readonly movedTo: string | null;
}

/** A call that failed. It has no cause: errors of the network name the address, and the address holds the token. */
export class TelegramError extends Error {
  readonly kind: TelegramErrorKind;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly movedTo: string | null;

  constructor(kind: TelegramErrorKind, message: string, facts: Partial<Facts> = {}) {
    super(message);
    this.name = "TelegramError";
    this.kind = kind;
    this.status = facts.status ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.movedTo = facts.movedTo ?? null;
  }
}

/** Telegram gives no codes below the status, so its English texts are all there is. */
const kindByText: readonly (readonly [RegExp, TelegramErrorKind])[] = [
  [/chat not found|user is deactivated|PEER_ID_INVALID|bot was (?:blocked|kicked)/i, "gone"],
  // Of a picture in an album.
  [/Too Many Requests|FLOOD_WAIT/i, "rate"],
  [/message is not modified/i, "unchanged"],
  [
    /message to (?:edit|delete) not found|message can't be edited|query is too old|MESSAGE_ID_INVALID/i,
    "missing",
  ],
  [/\b(?:PHOTO|IMAGE|MEDIA)_[A-Z_]+\b|group send failed|file is too big|Request Entity Too Large/i, "size"],
];

const kindByStatus: Readonly<Record<number, TelegramErrorKind>> = {
  401: "token",
  403: "gone",
  404: "token",
  409: "conflict",
  413: "size",
  420: "rate",
  429: "rate",
};

const secondMs = 1_000;
/** When a refusal for now does not say for how long. */
const usualWaitSeconds = 5;

/** What a call threw, without the token. */
export function toTelegramError(error: unknown, method: string): TelegramError {
  if (error instanceof TelegramError) return error;
  if (!(error instanceof GrammyError))
    return new TelegramError("unknown", `${method}: Telegram gave no answer that can be read.`);
  const { error_code: status, description, parameters } = error;
  const movedTo = parameters.migrate_to_chat_id;
  const message = `${method}: Telegram answered ${status}.`;
  if (movedTo !== undefined) return new TelegramError("moved", message, { status, movedTo: String(movedTo) });
  const kind = kindOf(status, description);
  const inText = /(?:retry after |FLOOD_WAIT_)(\d{1,6})/i.exec(description)?.[1];
  const waitSeconds = parameters.retry_after ?? Number(inText ?? usualWaitSeconds);
  return new TelegramError(kind, message, {
    status,
    retryAfterMs: kind === "rate" ? waitSeconds * secondMs : null,
  });
}

function kindOf(status: number, description: string): TelegramErrorKind {
  if (status >= 500) return "unknown";
  if (status === 409 && /webhook/i.test(description)) return "webhook";
  const byText = status === 400 ? kindByText.find(([pattern]) => pattern.test(description)) : undefined;
  return byText?.[1] ?? kindByStatus[status] ?? "refused";
}
