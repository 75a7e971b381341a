"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { ErrorCode } from "@atelier/server/platform";
import { toastFailure, toastFailureOnce } from "./toasts.tsx";
import { CodeMissing } from "./code.ts";

/**
 * A failure as the server reports it: an error code and a message for users. `offline`: no answer from the server.
 * `outdated`: the page is older than the studio, so that its code cannot be loaded any more. `file_unreadable`: the browser cannot
 * read the file. `cookies_blocked`: it keeps no cookie of the page.
 */
export interface Failure {
  readonly code: ErrorCode | "offline" | "outdated" | "file_unreadable" | "cookies_blocked";
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

/** Refusals of what stands before the studio, a proxy or a bucket: they say no more than their status. */
const codeByStatus: Readonly<Record<number, ErrorCode>> = {
  413: "request_too_large",
  429: "rate_limited",
  507: "storage_full",
};

/** Reads the failure of an answer; `told` is its body as JSON, or null when it is none. */
export function failureOfAnswer(status: number, told: unknown): Failure {
  const failure = failureOf(told);
  const code = codeByStatus[status];
  return failure.code === "offline" && code !== undefined ? { code, message: "" } : failure;
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
      const failure = failureOf(error);
      // The frame says so, with the button that helps.
      if (failure.code === "outdated") return;
      const { title, advice } = textOf(failure);
      // Several parts may wait for their code at once.
      const show = error instanceof CodeMissing ? toastFailureOnce : toastFailure;
      show(title, advice);
    },
    [textOf],
  );
}
