"use client";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { minPasswordLength } from "../client/session.ts";

/** Limits of the server, checked here as well so that the form shows them before it is sent. */
const maxPasswordLength = 128;

type Known =
  | "wrong"
  | "wrongCurrent"
  | "taken"
  | "short"
  | "long"
  | "tooMany"
  | "email"
  | "name"
  | "image"
  | "noInvitation"
  | "closed"
  | "suspended"
  | "guestTooLarge"
  | "linkInUse"
  | "providerDown"
  | "providerRefused"
  | "providerWrong"
  | "cancelled"
  | "expired"
  | "noAddress"
  | "noGroup"
  | "notLinked"
  | "linkedElsewhere"
  | "passwordsOff"
  | "code"
  | "recovery"
  | "codeUsed"
  | "factorLost"
  | "locked"
  | "ended"
  | "passkey"
  | "passkeyEnded"
  | "passkeyHere"
  | "passkeyKnown"
  | "passkeyUnverified"
  | "notFresh"
  | "factorFirst"
  | "overtaken"
  | "cookies";

const known: Readonly<Record<string, Known>> = {
  INVALID_EMAIL_OR_PASSWORD: "wrong",
  INVALID_PASSWORD: "wrongCurrent",
  INVALID_EMAIL: "email",
  USER_ALREADY_EXISTS: "taken",
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: "taken",
  PASSWORD_TOO_SHORT: "short",
  PASSWORD_TOO_LONG: "long",
  INVALID_NAME: "name",
  INVALID_IMAGE: "image",
  TOO_MANY_REQUESTS: "tooMany",
  rate_limited: "tooMany",
  INVITATION_INVALID: "noInvitation",
  SIGN_UP_CLOSED: "closed",
  BANNED_USER: "suspended",
  GUEST_TOO_LARGE: "guestTooLarge",
  LINK_IN_USE: "linkInUse",
  PROVIDER_UNREACHABLE: "providerDown",
  PROVIDER_REFUSED: "providerRefused",
  PROVIDER_ANSWER_INVALID: "providerWrong",
  PROVIDER_CANCELLED: "cancelled",
  SIGN_IN_EXPIRED: "expired",
  EMAIL_MISSING: "noAddress",
  GROUP_MISSING: "noGroup",
  ACCOUNT_NOT_LINKED: "notLinked",
  ACCOUNT_LINKED_ELSEWHERE: "linkedElsewhere",
  PASSWORDS_OFF: "passwordsOff",
  INVALID_CODE: "code",
  INVALID_BACKUP_CODE: "recovery",
  CODE_USED: "codeUsed",
  FACTOR_UNREADABLE: "factorLost",
  ACCOUNT_TEMPORARILY_LOCKED: "locked",
  INVALID_TWO_FACTOR_COOKIE: "ended",
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: "ended",
  PASSKEY_NOT_FOUND: "passkey",
  AUTHENTICATION_FAILED: "passkeyEnded",
  AUTH_CANCELLED: "passkeyEnded",
  ERROR_CEREMONY_ABORTED: "passkeyEnded",
  ERROR_PASSTHROUGH_SEE_CAUSE_PROPERTY: "passkeyEnded",
  CHALLENGE_NOT_FOUND: "passkeyEnded",
  ERROR_INVALID_DOMAIN: "passkeyHere",
  ERROR_INVALID_RP_ID: "passkeyHere",
  ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED: "passkeyKnown",
  PASSKEY_UNVERIFIED: "passkeyUnverified",
  SESSION_NOT_FRESH: "notFresh",
  SECOND_FACTOR_FIRST: "factorFirst",
  SIGN_IN_OVERTAKEN: "overtaken",
  cookies_blocked: "cookies",
};

const fieldOf = (error: unknown, name: string): unknown => Reflect.get(Object(error), name);

/** The text for an error of the account service; `provider` of the error is the label of the identity provider that it is about. */
export function useAuthError(): (error: unknown) => string {
  const t = useTranslations("signIn.errors");
  return useCallback(
    (error) => {
      const code = String(fieldOf(error, "code"));
      const text = Object.hasOwn(known, code) ? known[code] : undefined;
      if (fieldOf(error, "status") === 429 && text !== "locked") return t("tooMany");
      const label = fieldOf(error, "provider");
      const provider = typeof label === "string" ? label : "none";
      return t(text ?? "other", { min: minPasswordLength, max: maxPasswordLength, provider });
    },
    [t],
  );
}
