import { AppError, type ErrorCode } from "../platform/index.ts";
import { type Attempt, blameOf, titleOfProvider, wordsOf } from "../providers/index.ts";

/** What one provider answered: the class of its error and its own sentence, if it gave one. */
export interface ProviderReason {
  readonly provider: string;
  readonly reason: string;
  readonly words: string | null;
}

const reasonTexts: Readonly<Record<string, string>> = {
  capacity: "no room for more runs",
  rate: "too many requests",
  transient: "could not be reached or failed",
  lost: "its answer was lost",
  unsent: "did not get the request",
  input: "refused the input",
  moderation: "refused the content",
  gate: "made what the studio refuses",
  unstored: "made it, but the studio could not store it",
  auth: "refused the studio's key",
  credit: "the studio's account has no credit left",
  model: "does not have the model",
  timeout: "took too long",
  dearer: "costs more than was agreed",
  internal: "failed",
};

/** Its own sentence is for the user where the user can act; another one may tell about the studio's account. */
function quoted({ reason, words }: ProviderReason): string {
  const isForUser = ["content", "request"].includes(blameOf(reason));
  return isForUser && words !== null ? `: "${words}"` : "";
}

const textOf = (one: ProviderReason) =>
  `${titleOfProvider(one.provider)}: ${reasonTexts[one.reason] ?? one.reason}${quoted(one)}`;

/** The error of a job that one provider ended. Who has to act is the first thing that its text says. */
export function providerError(one: ProviderReason): AppError {
  const title = titleOfProvider(one.provider);
  const { provider, reason } = one;
  const details = { provider, reason, ...(quoted(one) === "" ? {} : { words: one.words }) };
  const of = (code: ErrorCode, message?: string) => new AppError(code, message, { details });
  if (one.reason === "lost") return of("provider_unknown");
  if (one.reason === "gate") return of("result_refused");
  switch (blameOf(one.reason)) {
    case "content":
      return of(
        "engine_blocked",
        `${title} refused the content of this picture${quoted(one) || "."} Change the prompt or the picture, or choose another model.`,
      );
    case "request":
      return of(
        "provider_input",
        `${title} cannot work with these pictures or settings${quoted(one) || "."} Change them.`,
      );
    case "operator":
      return of(
        "provider_setup",
        `${title} could not be used (${reasonTexts[one.reason]}). This is not your fault; an admin of the studio has to correct it.`,
      );
    case "outage":
      return of("provider_failed", `${title} could not make the picture now. Try again later.`);
  }
}

type Failed = Pick<Attempt, "provider" | "errorClass" | "errorMessage">;

/** The error of a job whose whole chain failed, with the reason of each provider; `dearer` cost more than was agreed. */
export function chainError(failed: readonly Failed[], dearer: readonly string[] = []): AppError {
  if (failed.length === 0 && dearer.length > 0) {
    const names = dearer.map(titleOfProvider).join(", ");
    return new AppError(
      "not_agreed",
      `It would cost more now than was agreed (${names}), so nothing was made or charged. Try again to see the new price.`,
      { details: { providers: dearer } },
    );
  }
  const reasons = [
    ...failed.map((attempt) => ({
      provider: attempt.provider,
      reason: attempt.errorClass ?? "internal",
      words: wordsOf(attempt),
    })),
    ...dearer.map((provider) => ({ provider, reason: "dearer", words: null })),
  ];
  const [first] = reasons;
  if (first === undefined) {
    return new AppError(
      "providers_failed",
      "No provider of this model that takes these settings is switched on and has a key.",
    );
  }
  const blames = new Set(reasons.map(({ reason }) => blameOf(reason)));
  const text = [...new Set(reasons.map(textOf))].join("; ");
  const details = { providers: reasons.map(({ provider, reason }) => ({ provider, reason })) };
  if (blames.size === 1 && blames.has("request"))
    return new AppError(
      "provider_input",
      `No provider can work with these pictures or settings (${text}). Change them.`,
      { details },
    );
  if (blames.size === 1 && blames.has("operator"))
    return new AppError(
      "provider_setup",
      `No provider could be used (${text}). This is not your fault; an admin of the studio has to correct it.`,
      { details },
    );
  return new AppError("providers_failed", `None of the providers could make the picture (${text}).`, {
    details,
  });
}
