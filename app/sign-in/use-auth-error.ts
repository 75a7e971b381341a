"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";

/** As the server has it; said before, checked there. */
export const minPasswordLength = 10;

type Known = "wrong" | "wrongCurrent" | "taken" | "short" | "tooMany" | "email" | "noInvitation" | "closed";

const known: Readonly<Record<string, Known>> = {
  INVALID_EMAIL_OR_PASSWORD: "wrong",
  INVALID_PASSWORD: "wrongCurrent",
  INVALID_EMAIL: "email",
  USER_ALREADY_EXISTS: "taken",
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: "taken",
  PASSWORD_TOO_SHORT: "short",
  TOO_MANY_REQUESTS: "tooMany",
  rate_limited: "tooMany",
  INVITATION_INVALID: "noInvitation",
  SIGN_UP_CLOSED: "closed",
};

/** Words for what the account service refused. */
export function useAuthError(): (error: unknown) => string {
  const t = useTranslations("signIn.errors");
  return useCallback(
    (error) => {
      const code: unknown =
        typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
      const status: unknown =
        typeof error === "object" && error !== null ? Reflect.get(error, "status") : undefined;
      if (status === 429) return t("tooMany");
      return t(known[String(code)] ?? "other", { min: minPasswordLength });
    },
    [t],
  );
}
