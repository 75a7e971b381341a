"use client";
import { useTranslations } from "next-intl";
import { useEffect, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { type Adjustments, isNeutral } from "@atelier/server/retouch";
import { imageUrl } from "../../client/urls.ts";
import { cx } from "../../ui/button.tsx";
import { toastFailure } from "../../ui/toasts.tsx";
import { useHeldOriginal } from "../held-original.ts";
import type { PreviewPart } from "./preview-worker.ts";
import { createPreviews, previewParts } from "./previews.ts";

/** Puts a bitmap where its part of the picture is. */
function show(canvas: HTMLCanvasElement | null, part: PreviewPart | undefined, bitmap?: ImageBitmap): void {
  if (canvas === null) return;
  canvas.style.display = part === undefined ? "none" : "";
  if (part === undefined || bitmap === undefined) return;
  const { left, top, width, height } = part;
  Object.assign(canvas.style, {
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
  });
  if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
  if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
  canvas.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap);
}

interface AdjustLayerProps {
  readonly image: ImageView;
  readonly adjustments: Adjustments;
  readonly view: { readonly scale: number; readonly x: number; readonly y: number };
  /** In CSS px. */
  readonly stage: { readonly width: number; readonly height: number };
}

/** Over the picture, in its px: how it looks adjusted. */
export function AdjustLayer({ image, adjustments, view, stage }: AdjustLayerProps) {
  const around = useRef<HTMLCanvasElement>(null);
  const seen = useRef<HTMLCanvasElement>(null);
  const [drawn, setDrawn] = useState<string | null>(null);
  const hasDrawn = drawn !== null;
  const previews = useRef<ReturnType<typeof createPreviews> | null>(null);
  const isHeld = useHeldOriginal();
  const t = useTranslations("edit.modes.adjust");
  const failedText = t("failed");
  const { widthPx, heightPx } = image;
  const isFine = view.scale * Math.max(widthPx, heightPx) > finePx;
  const url = imageUrl(image.id, isFine ? "original" : "preview");

  useEffect(() => {
    const made = createPreviews(({ parts: [first, second], url: source }, bitmaps) => {
      show(around.current, first, bitmaps?.[0]);
      show(seen.current, second, bitmaps?.[1]);
      setDrawn(bitmaps === null ? null : source);
      if (bitmaps === null) toastFailure(failedText);
    });
    previews.current = made;
    return () => {
      made.close();
      previews.current = null;
    };
  }, [failedText, image.id]);

  useEffect(() => {
    // The first one opens the picture before a slider moves.
    if (hasDrawn && isNeutral(adjustments)) return;
    const density = window.devicePixelRatio;
    const parts = previewParts({ picture: { widthPx, heightPx }, view, stage, density });
    previews.current?.ask({ url, widthPx, adjustments, parts });
  }, [adjustments, hasDrawn, heightPx, stage, url, view, widthPx]);

  const isShown = hasDrawn && !isHeld && !isNeutral(adjustments);
  return (
    <div
      aria-hidden
      data-preview={isShown ? "shown" : "hidden"}
      data-source={drawn}
      className={cx("pointer-events-none absolute inset-0", !isShown && "invisible")}
    >
      <canvas ref={around} className="absolute" />
      <canvas ref={seen} className="absolute" />
    </div>
  );
}

/** Above this size on the screen the stored preview is too small, as on the stage. */
const finePx = 1_400;
