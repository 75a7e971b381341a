import type { Messages } from "next-intl";
import { getMessages } from "next-intl/server";
import type { ReactNode } from "react";
import pageWords from "../../i18n/page-words.json" with { type: "json" };
import { MoreWords, type Part } from "./more-words.tsx";

/** A file that begins a part of a page: a layout, the frame, a page. */
type Place = keyof typeof pageWords;

/** Of all texts those that the client components of a part of a page use; `pnpm words` finds them. */
export function wordsOf(place: Place, messages: Messages): Part {
  const picked: Part = {};
  for (const namespace of pageWords[place]) copy(messages, picked, namespace.split("."));
  return picked;
}

function copy(from: object, to: Part, [key = "", ...rest]: readonly string[]): void {
  const found: unknown = Reflect.get(from, key);
  if (typeof found !== "object" || found === null) return;
  // Safe cast: messages are texts and objects of texts.
  if (rest.length === 0) to[key] = found as Part;
  else {
    // Safe cast: what is above a namespace is a part, never a text.
    const next = (to[key] ?? {}) as Part;
    to[key] = next;
    copy(found, next, rest);
  }
}

interface Props {
  readonly of: Place;
  readonly children: ReactNode;
}

/** Carries the texts of a part of a page to the browser, beside those of what is around it. */
export async function Words({ of, children }: Props) {
  return <MoreWords words={wordsOf(of, await getMessages())}>{children}</MoreWords>;
}
