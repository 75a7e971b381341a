"use client";
import { type Messages, NextIntlClientProvider, useLocale, useMessages } from "next-intl";
import { type ReactNode, useMemo } from "react";

/** Texts by name: as they are shown, or as lists that `format-message.ts` made of them. */
export interface Part {
  [key: string]: Part | readonly unknown[] | string;
}

type Content = Part[string];

const isPart = (content: Content | undefined): content is Part =>
  typeof content === "object" && !Array.isArray(content);

/** Both; where both have a part, its texts. */
function join(outer: Part, inner: Part): Part {
  const joined = { ...outer };
  for (const [key, value] of Object.entries(inner)) {
    const known = joined[key];
    joined[key] = isPart(known) && isPart(value) ? join(known, value) : value;
  }
  return joined;
}

interface Props {
  readonly words: Part;
  readonly children: ReactNode;
}

/** Adds texts to those that are there: the provider of next-intl replaces them. */
export function MoreWords({ words, children }: Props) {
  const locale = useLocale();
  const outer = useMessages();
  // Safe casts: of the messages a page has those that it uses, which `check` makes sure of.
  const messages = useMemo(() => join(outer as Part, words) as Messages, [outer, words]);
  return (
    <NextIntlClientProvider locale={locale} messages={messages}>
      {children}
    </NextIntlClientProvider>
  );
}
