import type { InputRole, JobKind } from "../engines.ts";
import { type ProviderName, providerNames } from "../platform/names.ts";
import { foreignText } from "../platform/index.ts";

export { type ProviderName, providerNames };

const providerTitles: Readonly<Record<string, string>> = {
  replicate: "Replicate",
  fal: "fal",
  google: "Google",
  higgsfield: "Higgsfield",
  kie: "Kie.ai",
  fashn: "FASHN",
  openai: "OpenAI images API",
} satisfies Record<ProviderName, string>;

/** Its name as the provider writes it. */
export function titleOfProvider(name: string): string {
  return providerTitles[name] ?? name;
}

/**
 * Why a call or a run failed. `capacity`: the account runs as much as it may; `rate`: too many requests; `lost`: the
 * request may have been accepted, but its answer did not come; `unsent`: the request never arrived, since the worker died
 * or the line was cut; `credit`: the account has no money left; `model`: the provider does not have the model, or the
 * account may not use it; `moderation`: it would not make this content; `gate`: the studio refuses what
 * it made; `unstored`: what it made, and was paid for, came, and the studio could not store it; `input`: it cannot work
 * with the pictures or settings of this request.
 */
export type ProviderErrorClass =
  | "model"
  | "capacity"
  | "rate"
  | "transient"
  | "lost"
  | "unsent"
  | "input"
  | "moderation"
  | "gate"
  | "unstored"
  | "auth"
  | "credit"
  | "timeout"
  | "internal";

/** Who has to act: the user, the operator of the studio, or neither, since the provider is away or busy. */
export type Blame = "content" | "request" | "operator" | "outage";

/** The kind of fault of an error class, also of one that an older version stored. */
export function blameOf(errorClass: string): Blame {
  if (errorClass === "moderation" || errorClass === "gate") return "content";
  if (errorClass === "input") return "request";
  return ["auth", "credit", "model"].includes(errorClass) ? "operator" : "outage";
}

interface ProviderErrorOptions {
  readonly retryAfterMs?: number | null;
  /** The provider's own sentence, for people. */
  readonly words?: string | null;
  /** The provider made something all the same, so that its price counts. */
  readonly isCharged?: boolean;
  readonly cause?: unknown;
}

const maxMessageLength = 1_000;

/** The one error of the clients. `message` is for admins and holds no secret; both texts are clean and bounded. */
export class ProviderError extends Error {
  readonly class: ProviderErrorClass;
  /** How long the provider asks to be left alone, ms. */
  readonly retryAfterMs: number | null;
  readonly words: string | null;
  readonly isCharged: boolean;

  constructor(errorClass: ProviderErrorClass, message: string, options: ProviderErrorOptions = {}) {
    super(cleaned(message).slice(0, maxMessageLength).toWellFormed(), { cause: options.cause });
    this.name = "ProviderError";
    this.class = errorClass;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.words = foreignText.parse(cleaned(options.words ?? "").trim()) || null;
    this.isCharged = options.isCharged ?? false;
  }
}

/** Without control characters, signs that turn the direction of writing, and runs of blanks. */
function cleaned(text: string): string {
  return text.replaceAll(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\s]+/gu, " ");
}

/** Where and as whom a provider is called. */
export interface ProviderAccess {
  readonly name: ProviderName;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Verifies its webhooks; null when none is configured. */
  readonly webhookSecret: string | null;
}

/** An input picture inside the input of a submission; each client sends it in its provider's way. */
export interface ProviderPicture {
  readonly bytes: Uint8Array;
  readonly mime: "image/png" | "image/jpeg" | "image/webp";
}

export type InputValue =
  | string
  | number
  | boolean
  | null
  | ProviderPicture
  | readonly InputValue[]
  | { readonly [name: string]: InputValue };

export interface Submission {
  /** The provider's own name of the model, e.g. `black-forest-labs/flux-2-pro`. */
  readonly endpoint: string;
  readonly kind: JobKind;
  /** The provider's own fields, pictures included. */
  readonly input: Readonly<Record<string, InputValue>>;
  /** UUID, the same for each repetition of this submission. */
  readonly idempotencyKey: string;
  /** HTTPS address for the webhook; null where the studio cannot be reached from outside. */
  readonly webhookUrl: string | null;
  /**
   * Each client waits for it right before the request that may cost money, after all others such as uploads. Throws
   * `unsent` when somebody else has taken the job over meanwhile, or when that cannot be told.
   */
  readonly beforePaid: () => Promise<void>;
}

/** A run that the provider accepted. */
export interface RunHandle {
  readonly endpoint: string;
  readonly externalId: string;
  /** Addresses that the provider gave for this run (fal); empty for others. */
  readonly urls: Readonly<Record<string, string>>;
}

/** A result: an address from which it must be fetched soon, or its bytes. */
export type ProviderOutput = { readonly url: string } | { readonly bytes: Uint8Array };

export type RunState =
  /** `progress` is 0..1. */
  | { readonly state: "queued" | "running"; readonly progress: number | null }
  /** `costUsd` is null when the provider does not state it. */
  | {
      readonly state: "succeeded";
      readonly outputs: readonly ProviderOutput[];
      readonly costUsd: number | null;
    }
  | { readonly state: "failed"; readonly error: ProviderError; readonly costUsd: number | null }
  | { readonly state: "cancelled"; readonly costUsd: number | null };

export interface Submitted {
  readonly handle: RunHandle;
  /** A synchronous provider has ended already. */
  readonly run: RunState;
}

export interface WebhookRequest {
  readonly rawBody: Uint8Array;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A provider. Each method makes its HTTP calls with the given signal, a time and a size limit, repeats none of them, and
 * throws `ProviderError` alone. A `submit` that fails after its request may have arrived throws the class `lost`.
 */
export interface ProviderClient {
  readonly name: ProviderName;
  /** False: `submit` answers with the result, and there is nothing to ask for later. */
  readonly isAsynchronous: boolean;
  /** Whether a repeated submit with the same idempotency key gives the first run and costs nothing. */
  isIdempotent(access: ProviderAccess): boolean;
  /** A GET that costs nothing and is refused with a wrong key; missing where the provider has none. */
  freeCall?(access: ProviderAccess): {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
  };
  submit(access: ProviderAccess, submission: Submission, signal: AbortSignal): Promise<Submitted>;
  get(access: ProviderAccess, handle: RunHandle, signal: AbortSignal): Promise<RunState>;
  cancel(
    access: ProviderAccess,
    handle: RunHandle,
    signal: AbortSignal,
  ): Promise<"requested" | "too_late" | "unsupported">;
  /**
   * Finds the run of a submission whose answer was lost, by its webhook address and time. `null`: it was never accepted.
   * Only where the provider lists runs.
   */
  find?(
    access: ProviderAccess,
    lost: { readonly webhookUrl: string; readonly submittedAt: Date },
    signal: AbortSignal,
  ): Promise<RunHandle | null>;
  /**
   * Verifies the signature of a webhook over its raw body and returns the id that it is about. Throws class `auth` when
   * it is forged, stale or unsigned although the provider signs.
   */
  verifyWebhook(
    access: ProviderAccess,
    request: WebhookRequest,
    signal: AbortSignal,
  ): Promise<{ externalId: string }>;
}

/**
 * Input of an endpoint with placeholders: a string such as `$prompt` or `$seed` (`paramPlaceholders` has all), or a role
 * (`$person`, `$garment`, `$garment2`, `$image`, `$reference` and so on). A member whose placeholder has no value is left out, also from
 * a list. `{ "$category": { "top": "upper_body" } }` translates values, and takes no others.
 */
export type InputTemplate = { readonly [name: string]: TemplateValue };
type TemplateValue =
  | string
  | number
  | boolean
  | readonly TemplateValue[]
  | { readonly [name: string]: TemplateValue };

/** How one provider runs a model. */
export interface ModelOffer {
  readonly provider: ProviderName;
  readonly endpoint: string;
  readonly input: InputTemplate;
  /** The aspect ratios that it knows, such as `16:9`; the nearest one is sent. Without a list those that most know. */
  readonly ratios?: readonly string[];
  /** Price of one picture in US dollars; null when no source states it. */
  readonly priceUsd: number | null;
}

/** A model of the list. The order of its offers is its chain. */
export interface CloudModel {
  /** Lower-case letters, digits and hyphens, e.g. `flux-2-pro`. */
  readonly id: string;
  readonly title: string;
  readonly kind: JobKind;
  /** Roles that must be given, and that may be given. */
  readonly inputs: { readonly required: readonly InputRole[]; readonly optional: readonly InputRole[] };
  /** Names of the placeholders besides roles that its offers understand. */
  readonly params: readonly string[];
  /** Where the licence forbids commercial use. */
  readonly isNonCommercial?: boolean;
  readonly offers: readonly ModelOffer[];
}
