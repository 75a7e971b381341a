"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ImageView } from "@atelier/server/images";
import type { Size } from "@atelier/server/retouch";
import { useCapabilities } from "../../client/queries.ts";
import { imageUrl } from "../../client/urls.ts";
import { cx } from "../../ui/button.tsx";
import { useBoxSize } from "../../ui/box-size.ts";
import { FrameBox } from "../frame/frame-box.tsx";
import type { Handle, Move } from "../frame/rect.ts";
import { type Expansion, expansionOf, frameOf, type Ground, type Margins, pulledOut } from "./frame.ts";

const frameHelpId = "expand-help";

/** Room around the frame to pull it into: CSS px at least, and a part of the stage. */
const marginPx = 40;
const marginShare = 0.14;
/** Above this size on the screen the stored preview is too small, as on the stage of the other modes. */
const finePx = 1_400;

/** A picture with how far it may grow. */
export function useGround({ widthPx, heightPx }: Pick<ImageView, "widthPx" | "heightPx">): Ground {
  const limits = useCapabilities()?.limits;
  return {
    size: { width: widthPx, height: heightPx },
    sidePx: limits?.maxExpandPx ?? Infinity,
    pixels: limits?.maxOutputPixels ?? Infinity,
  };
}

interface Layout {
  /** CSS px in a px of the picture. */
  readonly scale: number;
  /** Corner of the picture at the top left, in CSS px of the stage. */
  readonly left: number;
  readonly top: number;
}

/** Shows the whole frame in the middle of the stage, with room around it. */
function layOut(stage: Size, size: Size, margins: Margins): Layout {
  const frame = frameOf(size, margins);
  const room = (px: number) => Math.max(1, px - 2 * Math.max(marginPx, px * marginShare));
  const scale = Math.min(room(stage.width) / frame.width, room(stage.height) / frame.height, 2);
  return {
    scale,
    left: stage.width / 2 - (frame.left + frame.width / 2) * scale,
    top: stage.height / 2 - (frame.top + frame.height / 2) * scale,
  };
}

interface ExpandStageProps {
  readonly image: ImageView;
  readonly given: Expansion;
  readonly onChange: (settings: Expansion, isBegun: boolean) => void;
}

/** The picture in the frame that it grows to. While a pointer pulls the frame, nothing but the frame moves. */
export function ExpandStage({ image, given, onChange }: ExpandStageProps) {
  const t = useTranslations("edit");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const [held, setHeld] = useState<Layout | null>(null);
  const stage = useBoxSize(element);
  const ground = useGround(image);
  const { size } = ground;
  const settings = expansionOf(given);
  const layout = held ?? layOut(stage, size, settings);
  const { scale, left, top } = layout;
  const rect = frameOf(size, settings);
  const pull = (from: Expansion, handle: Handle, by: Move) => pulledOut(ground, from, { handle, by });
  const isFine = scale * Math.max(image.widthPx, image.heightPx) > finePx;
  return (
    <div ref={setElement} className="relative min-h-0 min-w-0 flex-1 touch-none overflow-hidden">
      {stage.width === 0 ? null : (
        <div
          className={cx("absolute", held === null && "motion-safe:transition-all motion-safe:duration-150")}
          style={{ width: size.width * scale, height: size.height * scale, left, top }}
        >
          <span
            aria-hidden
            className="hatched pointer-events-none absolute"
            style={{
              left: rect.left * scale,
              top: rect.top * scale,
              width: rect.width * scale,
              height: rect.height * scale,
            }}
          />
          <img
            src={imageUrl(image.id, isFine ? "original" : "preview")}
            alt={t("pictureAlt")}
            draggable={false}
            className="checker absolute inset-0 size-full select-none"
          />
          <FrameBox
            rect={rect}
            label={t("expand.frame", { width: rect.width, height: rect.height })}
            helpId={frameHelpId}
            settings={settings}
            scale={scale}
            pull={pull}
            onChange={onChange}
            onHold={(isHeld) => setHeld(isHeld ? layout : null)}
          />
        </div>
      )}
      <p id={frameHelpId} className="sr-only">
        {t("expand.help")}
      </p>
    </div>
  );
}
