import type { ProviderError, ProviderName, ProviderPicture, Submission } from "@atelier/server/providers";
import type { ProviderFault, Refusal } from "./port.ts";

type ProviderErrorClass = ProviderError["class"];

/** Class and wait, ms, of a refusal; `none`: the provider has no such refusal, so its simulator accepts. */
type ExpectedRefusal = readonly [ProviderErrorClass, number | null] | "none";

/** States of a run in which it may be cancelled. */
export const cancelStates = ["queued", "running", "succeeded", "failed", "cancelled"] as const;

/** What each client must do; the simulator of its provider is the other half. */
export interface ExpectedClient {
  readonly endpoint: string;
  readonly input: (...pictures: readonly ProviderPicture[]) => Submission["input"];
  /** Requests before the paid one for a picture of 300 kB. */
  readonly uploads: number;
  /** The longest wait for the answer to a submit. */
  readonly submitMs: number;
  readonly refusals: Readonly<Record<Refusal, ExpectedRefusal>>;
  /** HTTP 503 without words of the provider. */
  readonly overload: ProviderErrorClass;
  /** `in the answer` to the submit: there are no runs to ask for, to cancel or to be told of. */
  readonly result: "asked for" | "in the answer";
  /** A run that failed for no known reason. */
  readonly failed: ProviderErrorClass;
  readonly cancel: Readonly<Record<(typeof cancelStates)[number], "requested" | "too_late">> | "unsupported";
  readonly webhook: WebhookKind;
}

const none = "none";
const refused = (errorClass: ProviderErrorClass, retryAfterMs: number | null = null) =>
  [errorClass, retryAfterMs] as const;

const usual = {
  quota: none,
  auth: refused("auth"),
  credit: refused("credit"),
  busy: none,
  input: refused("input"),
} as const;

const queue = {
  uploads: 0,
  submitMs: 20_000,
  overload: "transient",
  result: "asked for",
  failed: "internal",
} as const;

const direct = {
  uploads: 0,
  result: "in the answer",
  failed: "transient",
  cancel: "unsupported",
  webhook: "sends none",
} as const;

const whileOpen = {
  queued: "requested",
  running: "requested",
  succeeded: "too_late",
  failed: "too_late",
  cancelled: "too_late",
} as const;

export const expectedClients: Readonly<Record<ProviderName, ExpectedClient>> = {
  replicate: {
    ...queue,
    endpoint: "owner/model",
    input: (...pictures) => ({ prompt: "p", image_input: pictures }),
    uploads: 1,
    refusals: { ...usual, rate: refused("rate", 30_000) },
    // A second cancel is answered as the first one.
    cancel: { ...whileOpen, cancelled: "requested" },
    webhook: "signed",
  },
  fal: {
    ...queue,
    endpoint: "owner/app/edit",
    input: (...pictures) => ({ prompt: "p", image_urls: pictures }),
    refusals: { ...usual, rate: refused("rate", 7_000) },
    cancel: whileOpen,
    webhook: "signed with published keys",
  },
  google: {
    ...direct,
    endpoint: "gemini-image",
    input: (...pictures) => ({ parts: ["p", ...pictures] }),
    submitMs: 150_000,
    refusals: {
      ...usual,
      rate: refused("rate", 55_000),
      quota: refused("rate", 3_600_000),
      credit: none,
      busy: refused("capacity"),
    },
    overload: "capacity",
  },
  higgsfield: {
    ...queue,
    endpoint: "owner/model/standard",
    input: (...pictures) => ({ prompt: "p", images: pictures }),
    refusals: { ...usual, rate: refused("rate", 9_000), busy: refused("capacity", 12_000) },
    cancel: { ...whileOpen, running: "too_late" },
    webhook: "signed",
  },
  kie: {
    ...queue,
    endpoint: "model",
    input: (...pictures) => ({ prompt: "p", image_input: pictures }),
    uploads: 1,
    refusals: { ...usual, rate: refused("rate", 10_000) },
    cancel: "unsupported",
    webhook: "signed without its body",
  },
  fashn: {
    ...queue,
    endpoint: "tryon-v1.6",
    input: (...pictures) => ({ prompt: "p", image_context: pictures }),
    refusals: { ...usual, rate: refused("rate", 5_000), busy: refused("capacity", 5_000) },
    failed: "transient",
    cancel: "unsupported",
    webhook: "never signed",
  },
  openai: {
    ...direct,
    endpoint: "gpt-image",
    input: (...pictures) => ({ prompt: "p", image: pictures }),
    submitMs: 170_000,
    refusals: { ...usual, rate: refused("rate", 20_000) },
    overload: "transient",
  },
};

type Breakdown = Exclude<ProviderFault, Refusal | "refuse" | "cut">;

/** What a submit and a get become when something between caller and provider breaks. A lost submit may be paid. */
export const breakdowns: Readonly<
  Record<Breakdown, { readonly submit: ProviderErrorClass; readonly get: ProviderErrorClass }>
> = {
  gateway: { submit: "lost", get: "transient" },
  garbage: { submit: "lost", get: "transient" },
  redirect: { submit: "lost", get: "transient" },
  drop: { submit: "lost", get: "transient" },
  flood: { submit: "lost", get: "internal" },
  hang: { submit: "lost", get: "timeout" },
  mute: { submit: "lost", get: "timeout" },
};

export const webhookCases = [
  "right",
  "forged",
  "stale",
  "early",
  "unsigned",
  "unsigned without a secret",
  "changed by one byte",
] as const;

export type WebhookCase = (typeof webhookCases)[number];

type Verdicts = Readonly<Record<WebhookCase, "taken" | "auth">>;

type WebhookKind =
  | "signed"
  | "signed with published keys"
  | "signed without its body"
  | "never signed"
  | "sends none";

const signed: Verdicts = {
  right: "taken",
  forged: "auth",
  stale: "auth",
  early: "auth",
  unsigned: "auth",
  "unsigned without a secret": "taken",
  "changed by one byte": "auth",
};

const all = (verdict: Verdicts["right"]): Verdicts => ({
  right: verdict,
  forged: verdict,
  stale: verdict,
  early: verdict,
  unsigned: verdict,
  "unsigned without a secret": verdict,
  "changed by one byte": verdict,
});

/** Whether a webhook is taken for the provider's. What it says is never believed: the run is asked for. */
export const webhookVerdicts: Readonly<Record<WebhookKind, Verdicts>> = {
  signed,
  "signed with published keys": { ...signed, "unsigned without a secret": "auth" },
  "signed without its body": { ...signed, "changed by one byte": "taken" },
  "never signed": all("taken"),
  "sends none": all("auth"),
};
