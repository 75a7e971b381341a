"use client";
import { Minus, Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../ui/button.tsx";

/** What one press zooms. */
export const zoomStep = 1.25;

interface Props {
  /** 1 is the picture's own size. */
  readonly zoomed: number;
  readonly onZoom: (factor: number) => void;
  readonly onFit: () => void;
}

/** Over a picture that can be zoomed: how large it is, and buttons. */
export function ZoomControls({ zoomed, onZoom, onFit }: Props) {
  const t = useTranslations("pictures.zoom");
  const percent = `${Math.round(zoomed * 100)} %`;
  return (
    <div className="absolute bottom-3 left-1/2 flex -translate-x-1/2 items-center rounded-full bg-raised shadow-float">
      <IconButton
        label={t("out")}
        keys="-"
        side="top"
        className="rounded-full"
        onClick={() => onZoom(1 / zoomStep)}
      >
        <Minus aria-hidden />
      </IconButton>
      <button
        type="button"
        onClick={onFit}
        aria-label={`${percent}, ${t("fit")}`}
        className="tabular h-9 min-w-14 rounded-control text-xs font-medium text-quiet hover:text-ink"
      >
        {percent}
      </button>
      <IconButton
        label={t("in")}
        keys="+"
        side="top"
        className="rounded-full"
        onClick={() => onZoom(zoomStep)}
      >
        <Plus aria-hidden />
      </IconButton>
    </div>
  );
}
