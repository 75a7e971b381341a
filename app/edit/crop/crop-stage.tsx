"use client";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { type Size, straightenedSize } from "@atelier/server/retouch";
import { imageUrl } from "../../client/urls.ts";
import { useBoxSize } from "../../ui/box-size.ts";
import { FrameBox } from "../frame/frame-box.tsx";
import { type Handle, middle, type Move } from "../frame/rect.ts";
import { type CropSettings, moved, rectOf, resized, settle, toParams } from "./frame.ts";

/** Of the help for the keys of the frame; there as long as a frame is. */
export const frameHelpId = "crop-help";

/** Room around the picture for the handles of the frame, in CSS px. */
const marginPx = 40;
/** Above this size on the screen the stored preview is too small, as on the stage of the other modes. */
const finePx = 1_400;

/** CSS px in a px of the picture, so that all of a straightened picture is seen. */
function fitScale(stage: Size, canvas: Size): number {
  const room = (px: number) => Math.max(1, px - 2 * marginPx);
  return Math.min(room(stage.width) / canvas.width, room(stage.height) / canvas.height, 2);
}

interface PosedPictureProps {
  readonly image: ImageView;
  readonly settings: CropSettings;
  readonly scale: number;
}

/** The picture, turned, mirrored and straightened around the middle of its box. */
function PosedPicture({ image, settings, scale }: PosedPictureProps) {
  const t = useTranslations("edit");
  const { turns, mirror, angle } = settings;
  const isFine = scale * Math.max(image.widthPx, image.heightPx) > finePx;
  return (
    <img
      src={imageUrl(image.id, isFine ? "original" : "preview")}
      alt={t("pictureAlt")}
      draggable={false}
      className="checker absolute top-1/2 left-1/2 max-w-none select-none"
      style={{
        width: image.widthPx * scale,
        height: image.heightPx * scale,
        transform: `translate(-50%, -50%) rotate(${angle}deg) scaleX(${mirror ? -1 : 1}) rotate(${turns * 90}deg)`,
      }}
    />
  );
}

/** Lines that part the frame evenly: thirds, and a narrow grid to straighten by. */
function Lines({ parts }: { readonly parts: number }) {
  const places = Array.from({ length: parts - 1 }, (_, index) => `${((index + 1) * 100) / parts}%`);
  return (
    <span aria-hidden className="pointer-events-none absolute inset-0 overflow-hidden">
      {places.map((place) => (
        <span key={`x ${place}`} className="absolute inset-y-0 w-px bg-white/45" style={{ left: place }} />
      ))}
      {places.map((place) => (
        <span key={`y ${place}`} className="absolute inset-x-0 h-px bg-white/45" style={{ top: place }} />
      ))}
    </span>
  );
}

interface CropStageProps {
  readonly image: ImageView;
  readonly given: CropSettings;
  readonly onChange: (settings: CropSettings, isBegun: boolean) => void;
}

/** The whole picture as it is turned and straightened, darkened but for the frame that is kept. */
export function CropStage({ image, given, onChange }: CropStageProps) {
  const t = useTranslations("edit.crop");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const stage = useBoxSize(element);
  const size = { width: image.widthPx, height: image.heightPx };
  const settings = settle(size, given);
  const canvas = straightenedSize(size, settings);
  const scale = fitScale(stage, canvas);
  const pull = (from: CropSettings, handle: Handle, by: Move) =>
    handle === middle ? moved(size, from, by) : resized(size, from, handle, by);
  return (
    <div ref={setElement} className="relative min-h-0 min-w-0 flex-1 touch-none overflow-hidden">
      {stage.width === 0 ? null : (
        <div
          className="absolute"
          style={{
            width: canvas.width * scale,
            height: canvas.height * scale,
            left: (stage.width - canvas.width * scale) / 2,
            top: (stage.height - canvas.height * scale) / 2,
          }}
        >
          <PosedPicture image={image} settings={settings} scale={scale} />
          <FrameBox
            rect={rectOf(size, settings)}
            label={t("frame", toParams(size, settings).rect)}
            helpId={frameHelpId}
            settings={settings}
            scale={scale}
            pull={pull}
            onChange={onChange}
            className="shadow-[0_0_0_9999px_rgb(0_0_0/58%)]"
          >
            <Lines parts={settings.angle === 0 ? 3 : 9} />
          </FrameBox>
        </div>
      )}
      <p id={frameHelpId} className="sr-only">
        {t("help")}
      </p>
    </div>
  );
}
