import type { ProviderError } from "@atelier/server/providers";
import type { GivenAnswer } from "../http/index.ts";

type ProviderErrorClass = ProviderError["class"];

/** One form of an answer that means a failure, with its class and the sentence that a user reads. */
export type ErrorShape = readonly [
  what: string,
  /** What was asked for when the answer came: a submit, or a run that has ended. */
  asked: "submit" | "get",
  answer: GivenAnswer,
  errorClass: ProviderErrorClass,
  words?: string | null,
];

export const json = (body: unknown, status = 200): GivenAnswer => ({ status, body: JSON.stringify(body) });

export const policy = "The prompt violates our usage policies.";
