"use client";
import { useLocale } from "next-intl";
import { useRouter } from "next/navigation";
import { useEffect } from "react";
import type { Locale } from "@atelier/server/locales";
import { useMe } from "../client/queries.ts";
import { rememberLocale } from "../client/cookies.ts";

/** Renders the page in another language. The server sends its texts anew; what is typed or open stays. */
export function useShowIn(): (locale: Locale | null) => void {
  const router = useRouter();
  return (locale) => {
    rememberLocale(locale);
    router.refresh();
  };
}

/** Shows the language of the account when this browser had another one, as after a change on another device. */
export function FollowAccountLanguage() {
  const shown = useLocale();
  const wanted = useMe()?.locale;
  const showIn = useShowIn();
  useEffect(() => {
    if (wanted && wanted !== shown) showIn(wanted);
    // oxlint-disable-next-line react/exhaustive-deps -- only a change of the account's language
  }, [wanted]);
  return null;
}
