"use client";
import type { ImageView } from "@atelier/server/images";
import { ArrowLeft, Download } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { downloadUrl } from "../data/image-url.ts";
import { AiBadge } from "../pictures/ai-badge.tsx";
import { useImageName } from "../pictures/use-image-name.ts";
import { buttonStyle } from "../ui/button-style.ts";

export function EditHeader({ image }: { readonly image: ImageView }) {
  const t = useTranslations("edit");
  const pictures = useTranslations("pictures");
  const name = useImageName()(image);
  return (
    <header className="flex h-14 shrink-0 items-center gap-2 border-b border-line px-2 sm:px-3">
      <Link href="/gallery" className={buttonStyle("quiet", "small")}>
        <ArrowLeft aria-hidden />
        {t("back")}
      </Link>
      <p className="min-w-0 flex-1 truncate text-center text-xs text-quiet max-sm:hidden">
        {name}
        <span className="tabular ml-3">
          {pictures("size", { width: image.widthPx, height: image.heightPx })}
        </span>
      </p>
      <span className="flex-1 sm:hidden" />
      {image.kind === null ? null : <AiBadge />}
      <a href={downloadUrl(image.id)} download className={buttonStyle("quiet", "small")}>
        <Download aria-hidden />
        {t("download")}
      </a>
    </header>
  );
}
