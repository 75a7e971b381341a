"use client";
import { useCallback } from "react";
import { toastFailure } from "../ui/toasts.ts";
import { failureOf } from "../client/failures.ts";
import { useFailureText } from "./use-failure-text.ts";

/** Shows whatever was thrown as a toast in plain words. */
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
