"use client";
import { Minus, Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../../ui/icon-button.tsx";
import type { StageView } from "./use-view.ts";

export function ZoomControls({ stage }: { readonly stage: StageView }) {
  const t = useTranslations("edit");
  const percent = `${Math.round(stage.view.scale * 100)} %`;
  return (
    <div className="absolute bottom-3 left-1/2 flex -translate-x-1/2 items-center rounded-full bg-raised shadow-float">
      <IconButton
        label={t("zoomOut")}
        keys="-"
        side="top"
        className="rounded-full"
        onClick={() => stage.zoom(0.8)}
      >
        <Minus aria-hidden />
      </IconButton>
      <button
        type="button"
        onClick={stage.fit}
        aria-label={`${percent}, ${t("fit")}`}
        className="tabular h-9 min-w-14 rounded-control text-xs font-medium text-quiet hover:text-ink"
      >
        {percent}
      </button>
      <IconButton
        label={t("zoomIn")}
        keys="+"
        side="top"
        className="rounded-full"
        onClick={() => stage.zoom(1.25)}
      >
        <Plus aria-hidden />
      </IconButton>
    </div>
  );
}
