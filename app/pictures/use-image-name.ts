"use client";
import type { ImageView } from "@atelier/server/images";
import { useFormatter, useTranslations } from "next-intl";
import { useCallback } from "react";

/** What a picture is called: its title, else what it is and when it came. */
export function useImageName(): (image: ImageView) => string {
  const t = useTranslations("pictures");
  const jobs = useTranslations("jobs");
  const format = useFormatter();
  return useCallback(
    (image) => {
      if (image.title !== "") return image.title;
      const time = format.dateTime(new Date(image.createdAt), {
        day: "numeric",
        month: "long",
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
      });
      return t("name", { what: image.kind === null ? t("upload") : jobs(`kinds.${image.kind}`), time });
    },
    [format, jobs, t],
  );
}
