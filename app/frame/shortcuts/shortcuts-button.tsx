"use client";
import { Keyboard } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../../ui/icon-button.tsx";
import { shortcutsOpen } from "./shortcuts-open.ts";

export function ShortcutsButton() {
  const t = useTranslations("shortcuts");
  return (
    <IconButton label={t("title")} keys="?" side="top" onClick={() => shortcutsOpen.set(true)}>
      <Keyboard strokeWidth={1.75} aria-hidden />
    </IconButton>
  );
}
