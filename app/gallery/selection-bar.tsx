"use client";
import { Star, Trash2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "../ui/button.tsx";
import { IconButton } from "../ui/icon-button.tsx";
import type { Selection } from "./selection.tsx";

export function SelectionBar({ selection }: { readonly selection: Selection }) {
  const t = useTranslations("gallery");
  const count = selection.ids.size;
  if (count === 0) return null;
  const allStarred = selection.images.every((image) => image.starred);
  return (
    <div
      role="toolbar"
      data-selection-bar
      aria-label={t("selection")}
      className="stage fixed bottom-[calc(68px+env(safe-area-inset-bottom))] left-1/2 z-40 flex h-12 -translate-x-1/2 items-center gap-1 rounded-full bg-raised! pr-2 pl-5 shadow-float wide:bottom-5"
    >
      <p role="status" className="tabular mr-3 text-xs font-medium whitespace-nowrap">
        {t("selected", { count })}
      </p>
      <Button look="quiet" size="small" onClick={selection.star}>
        <Star aria-hidden />
        {t(allStarred ? "unstarSelected" : "starSelected")}
      </Button>
      <Button look="quiet" size="small" onClick={selection.remove}>
        <Trash2 aria-hidden />
        {t("removeSelected")}
      </Button>
      <IconButton label={t("clearSelection")} side="top" onClick={selection.clear}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}
