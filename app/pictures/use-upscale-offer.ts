"use client";
import type { ImageView } from "@atelier/server/images";
import { useTranslations } from "next-intl";
import { useCapabilities, useCapability } from "../client/queries.ts";

type Picture = Pick<ImageView, "widthPx" | "heightPx">;

interface UpscaleOffer {
  /** What it becomes. */
  readonly size: string;
  readonly isPossible: boolean;
  /** Why it cannot be done, or has to wait. */
  readonly reason: string | null;
}

/** How large a picture becomes when it is upscaled, and whether it can be. */
export function useUpscaleOffer(image: Picture, scale: 2 | 4 = 2): UpscaleOffer {
  const t = useTranslations("pictures");
  const capability = useCapability("upscale");
  const maxPixels = useCapabilities()?.limits.maxOutputPixels ?? Infinity;
  const width = image.widthPx * scale;
  const height = image.heightPx * scale;
  const size = t("size", { width, height });
  const reason = capability?.reason ?? null;
  if (capability?.available === false) return { size, isPossible: false, reason: reason ?? t("noEngine") };
  if (width * height <= maxPixels) return { size, isPossible: true, reason };
  const max = Math.round(maxPixels / 1_000_000);
  return { size, isPossible: false, reason: t("tooLarge", { size, max }) };
}
