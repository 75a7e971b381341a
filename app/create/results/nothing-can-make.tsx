"use client";
import { Plug } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { buttonStyle } from "../../ui/button-style.ts";

interface Props {
  readonly reason: string;
  readonly hasPictures: boolean;
}

/** Nothing can make pictures now: what to connect, and what works without it. */
export function NothingCanMake({ reason, hasPictures }: Props) {
  const t = useTranslations("create");
  return (
    <div
      className={`flex flex-col gap-4 rounded-card border border-line bg-well p-5 sm:flex-row sm:gap-5 sm:p-6 ${hasPictures ? "mb-8" : ""}`}
    >
      <Plug className="size-6 shrink-0 text-quiet" strokeWidth={1.5} aria-hidden />
      <div className="flex min-w-0 flex-col gap-3">
        <h2 className="display text-lg">{t("nothingTitle")}</h2>
        <p className="measure text-sm text-quiet">{reason}</p>
        <p className="measure text-sm">{t("nothingHow")}</p>
        <code
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
          tabIndex={0}
          className="overflow-x-auto rounded-control border border-line bg-surface px-3 py-2 font-mono text-xs whitespace-nowrap"
        >
          COMFYUI_URLS=http://127.0.0.1:8188
        </code>
        <p className="measure text-sm text-quiet">{t("nothingMeanwhile")}</p>
        <div className="flex flex-wrap gap-2">
          <Link href="/" className={buttonStyle("plain", "small")}>
            {t("toStudio")}
          </Link>
          <Link href="/gallery" className={buttonStyle("quiet", "small")}>
            {t("toGallery")}
          </Link>
        </div>
      </div>
    </div>
  );
}
