"use client";
import type { ImageView } from "@atelier/server/images";
import { useTranslations } from "next-intl";
import { useCapabilities } from "../data/use-capabilities.ts";

const scale = 2;

/** How large a picture becomes when it is upscaled, and why it cannot be, if it cannot. */
export function useUpscaleOffer(image: Pick<ImageView, "widthPx" | "heightPx"> | undefined) {
  const t = useTranslations("pictures");
  const capabilities = useCapabilities();
  const width = (image?.widthPx ?? 0) * scale;
  const height = (image?.heightPx ?? 0) * scale;
  const maxPixels = capabilities?.limits.maxOutputPixels ?? Infinity;
  const capability = capabilities?.items.find((item) => item.kind === "upscale");
  const size = t("size", { width, height });
  if (capability?.available === false) return { size, reason: capability.reason ?? t("noEngine") };
  if (width * height > maxPixels) {
    return { size, reason: t("tooLarge", { size, max: Math.round(maxPixels / 1_000_000) }) };
  }
  return { size, reason: null };
}
