"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useLocale, useTranslations } from "next-intl";
import { asLocale, type Locale, localeNames, locales } from "@atelier/server/locales";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys, useMe } from "../client/queries.ts";
import { Select } from "../ui/select.tsx";
import { useShowIn } from "./follow-language.ts";

const asBrowser = "browser";

const ownNames = locales.map((locale) => ({ value: locale, title: localeNames[locale] }));

/** The language of the account, or of the guest. */
export function AccountLanguage() {
  const t = useTranslations("common");
  const me = useMe();
  const showIn = useShowIn();
  const queries = useQueryClient();
  const onError = useFailureToast();
  const save = useMutation({
    mutationFn: (locale: Locale | null) => api.account.setLocale.mutate({ locale }),
    onSuccess: (_, locale) => {
      queries.setQueryData(keys.me, (known: typeof me) => (known ? { ...known, locale } : known));
      showIn(locale);
    },
    onError,
  });
  if (!me) return <div className="h-10" aria-busy />;
  return (
    <div className="max-w-[420px]">
      <Select
        label={t("language")}
        hideLabel
        value={me.locale ?? asBrowser}
        onChange={(chosen) => save.mutate(asLocale(chosen))}
        options={[{ value: asBrowser, title: t("languageOfBrowser") }, ...ownNames]}
      />
    </div>
  );
}

/** The language of this browser, before it is known who uses it. */
export function BrowserLanguage() {
  const t = useTranslations("common");
  const shown = useLocale();
  const showIn = useShowIn();
  return (
    <Select
      label={t("language")}
      hideLabel
      value={shown}
      onChange={(chosen) => showIn(asLocale(chosen))}
      options={ownNames}
    />
  );
}
