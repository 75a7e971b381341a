"use client";
import { Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useRef, useState } from "react";
import { useSearchFilter } from "../frame/use-search-filter.ts";
import { inputStyle } from "../ui/input-style.ts";
import { cx } from "../ui/cx.ts";

const quietMs = 250;

export function GallerySearch() {
  const t = useTranslations("gallery");
  const { params, set } = useSearchFilter();
  const input = useRef<HTMLInputElement>(null);
  const asked = params.get("search") ?? "";
  const [text, setText] = useState(asked);
  const sent = useRef(asked);
  const wasAsked = useRef(params.has("search") && params.get("search") === "");

  useEffect(() => {
    if (wasAsked.current) input.current?.focus();
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      sent.current = text.trim();
      set("search", sent.current);
    }, quietMs);
    return () => clearTimeout(timer);
  }, [set, text]);
  // A link or Back changed the address.
  useEffect(() => {
    if (asked === sent.current) return;
    sent.current = asked;
    setText(asked);
  }, [asked]);

  return (
    <div className="relative w-40 sm:w-56">
      <Search className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-quiet" aria-hidden />
      <input
        ref={input}
        type="search"
        aria-label={t("search")}
        placeholder={t("searchHint")}
        aria-keyshortcuts="/"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        className={cx(inputStyle, "h-9! pl-8!")}
      />
    </div>
  );
}
