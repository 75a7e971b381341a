"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { ErrorCode } from "@atelier/server/platform";
import { toastDone, toastFailure } from "../ui/toasts.tsx";
import type { OfferedWorkflow } from "./queries.ts";

/** A failure as the server reports it: a code of the closed table and a message for people. */
export interface Failure {
  readonly code: ErrorCode | "offline";
  readonly message: string;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Reads a failure from what tRPC, the HTTP API or the network threw. */
export function failureOf(error: unknown): Failure {
  const code =
    field(field(error, "data"), "appCode") ?? field(error, "code") ?? field(field(error, "cause"), "code");
  const message = field(error, "message") ?? field(error, "detail");
  if (typeof code !== "string" || typeof message !== "string") return { code: "offline", message: "" };
  // The table is closed on the server; a code that this page does not know yet is shown with its sentence.
  return { code: code as ErrorCode, message };
}

/** Whether the message is more precise than the code: what is wrong with this picture. */
export function hasOwnAdvice({ code, message }: Failure): boolean {
  return code.endsWith("_unsuitable") && message !== "";
}

/** Copies a text to the clipboard and confirms it. */
export function useCopy(): (text: string) => void {
  const t = useTranslations("common");
  return useCallback(
    (text) => {
      // Missing outside secure contexts, as over plain http on a LAN address.
      const clipboard: Clipboard | undefined = navigator.clipboard;
      const refuse = () => toastFailure(t("copyRefused"));
      if (clipboard === undefined) refuse();
      else clipboard.writeText(text).then(() => toastDone(t("copied")), refuse);
    },
    [t],
  );
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
      const { title, advice } = textOf(failureOf(error));
      toastFailure(title, advice);
    },
    [textOf],
  );
}

const named = 2;

/** What a workflow lacks, as text; null when the workflow can run now. */
export function useLacksText(): (workflow: OfferedWorkflow) => string | null {
  const t = useTranslations("workflows");
  return useCallback(
    ({ isLive, missing, vramGib }) => {
      if (isLive) return null;
      if (missing.length === 0) return t("noServer", { gib: vramGib });
      const what = missing.slice(0, named).join(", ");
      return missing.length > named
        ? t("lacksMore", { what, count: missing.length - named })
        : t("lacks", { what });
    },
    [t],
  );
}
