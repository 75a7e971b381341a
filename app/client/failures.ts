"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { ErrorCode } from "@atelier/server/platform";
import { toastFailure } from "../ui/toasts.tsx";

/** A failure as the server reports it: an error code and a message for users. `offline`: no answer from the server. */
export interface Failure {
  readonly code: ErrorCode | "offline";
  readonly message: string;
  /** Figures or names that explain it. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The message is one for people, in the language of the page. */
  readonly isTold?: boolean;
}

/** The user was asked, and does not want it: nothing has to be said. */
export class NotWanted extends Error {}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Reads a failure from what tRPC, the HTTP API or the network threw. */
export function failureOf(error: unknown): Failure {
  const code =
    field(field(error, "data"), "appCode") ?? field(error, "code") ?? field(field(error, "cause"), "code");
  const message = field(error, "message") ?? field(error, "detail");
  const found = field(field(error, "data"), "details") ?? field(error, "details");
  const details = typeof found === "object" && found !== null ? { ...found } : {};
  if (typeof code !== "string" || typeof message !== "string") return { code: "offline", message: "" };
  // Safe cast: a newer server may send a code that this page has no text for; then its message is shown.
  return {
    code: code as ErrorCode,
    message,
    details,
    isTold: field(field(error, "data"), "isTold") === true,
  };
}

const saysWhatIsWrong: ReadonlySet<string> = new Set([
  "upload_unsupported",
  "upload_unreadable",
  "node_failed",
  "no_picture",
  "graph_invalid",
  "template_invalid",
]);

/** Whether the server's message is more precise than the text of the code: it says what is wrong with this picture or request. */
export function hasOwnAdvice({ code, message, isTold = false }: Failure): boolean {
  return (isTold || code.endsWith("_unsuitable") || saysWhatIsWrong.has(code)) && message !== "";
}

export interface FailureText {
  readonly title: string;
  /** What to do about it. */
  readonly advice: string;
}

/** The text of a failure: what happened, and what to do. */
export function useFailureText(): (failure: Failure) => FailureText {
  const t = useTranslations("errors");
  return useCallback(
    (failure) => {
      const key = failure.code as "internal";
      if (t.has(`${key}.title`)) {
        const advice = hasOwnAdvice(failure) ? failure.message : t(`${key}.advice`);
        return { title: t(`${key}.title`), advice };
      }
      return { title: t("internal.title"), advice: failure.message || t("internal.advice") };
    },
    [t],
  );
}

/** Shows a thrown error as a toast. */
export function useFailureToast(): (error: unknown) => void {
  const textOf = useFailureText();
  return useCallback(
    (error) => {
      if (error instanceof NotWanted) return;
      const { title, advice } = textOf(failureOf(error));
      toastFailure(title, advice);
    },
    [textOf],
  );
}

const secondMs = 1_000;
const [firstLookMs, lastLookMs, lookLimitMs] = [2 * secondMs, 30 * secondMs, 5 * secondMs];
/** What the studio says of itself when it is not ready, and a proxy when it does not reach it. */
const away: ReadonlySet<number> = new Set([502, 503, 504]);

/** Whether the studio does not answer now, or is without its database or its store. */
export async function isStudioAway(): Promise<boolean> {
  const signal = AbortSignal.timeout(lookLimitMs);
  const answer = await fetch("/api/ready", { cache: "no-store", signal }).catch(() => null);
  return answer === null || away.has(answer.status);
}

/** Resolves when the studio answers again, asked with pauses that grow, or when that is not wanted any more. */
export async function studioIsBack(isWanted: () => boolean): Promise<void> {
  for (let pauseMs = firstLookMs; ; pauseMs = Math.min(lastLookMs, pauseMs * 2)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (!isWanted() || !(await isStudioAway())) return;
  }
}
