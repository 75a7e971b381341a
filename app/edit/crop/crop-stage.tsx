"use client";
import { useTranslations } from "next-intl";
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { type Rect, straightenedSize } from "@atelier/server/retouch";
import { imageUrl } from "../../client/remix.ts";
import { cx } from "../../ui/button.tsx";
import { useBoxSize } from "../../ui/hooks.ts";
import { type CropSettings, type Handle, moved, rectOf, resized, settle, toParams } from "./frame.ts";

/** Of the help for the keys of the frame; there as long as a frame is. */
export const frameHelpId = "crop-help";

/** Room around the picture for the handles of the frame, in CSS px. */
const marginPx = 40;
/** Above this size on the screen the stored preview is too small, as on the stage of the other modes. */
const finePx = 1_400;

interface Size {
  readonly width: number;
  readonly height: number;
}

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

const handles: readonly (Handle & { readonly cursor: string })[] = [
  { x: -1, y: -1, cursor: "cursor-nwse-resize" },
  { x: 0, y: -1, cursor: "cursor-ns-resize" },
  { x: 1, y: -1, cursor: "cursor-nesw-resize" },
  { x: 1, y: 0, cursor: "cursor-ew-resize" },
  { x: 1, y: 1, cursor: "cursor-nwse-resize" },
  { x: 0, y: 1, cursor: "cursor-ns-resize" },
  { x: -1, y: 1, cursor: "cursor-nesw-resize" },
  { x: -1, y: 0, cursor: "cursor-ew-resize" },
];

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

const middle: Handle = { x: 0, y: 0 };

interface Drag {
  readonly pointerId: number;
  readonly handle: Handle;
  readonly from: CropSettings;
  readonly x: number;
  readonly y: number;
}

interface FrameInput {
  readonly size: Size;
  readonly settings: CropSettings;
  readonly scale: number;
  readonly onChange: (settings: CropSettings) => void;
}

function pull(
  { size, settings }: Pick<FrameInput, "size" | "settings">,
  handle: Handle,
  by: { x: number; y: number },
) {
  return handle === middle ? moved(size, settings, by) : resized(size, settings, handle, by);
}

/** Handlers for a pointer: inside it moves the frame, at a handle it changes its size. The first pointer alone counts. */
function useFramePointer({ size, settings, scale, onChange }: FrameInput) {
  const drag = useRef<Drag | null>(null);
  const begin = (handle: Handle) => (event: PointerEvent<HTMLElement>) => {
    if (drag.current !== null || event.button !== 0) return;
    event.stopPropagation();
    event.currentTarget.setPointerCapture(event.pointerId);
    drag.current = { pointerId: event.pointerId, handle, from: settings, x: event.clientX, y: event.clientY };
  };
  const move = (event: PointerEvent<HTMLElement>) => {
    const held = drag.current;
    if (held?.pointerId !== event.pointerId) return;
    const by = { x: (event.clientX - held.x) / scale, y: (event.clientY - held.y) / scale };
    onChange(pull({ size, settings: held.from }, held.handle, by));
  };
  const end = (event: PointerEvent<HTMLElement>) => {
    if (drag.current?.pointerId === event.pointerId) drag.current = null;
  };
  return (handle: Handle) => ({
    onPointerDown: begin(handle),
    onPointerMove: move,
    onPointerUp: end,
    onPointerCancel: end,
  });
}

const directions: Readonly<Record<string, { readonly x: -1 | 0 | 1; readonly y: -1 | 0 | 1 }>> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};
const stepPx = 8;

/** Arrows move the frame, with Shift its right and lower side; with Alt by one px. */
function stepped({ size, settings, scale }: FrameInput, event: KeyboardEvent): CropSettings | null {
  const direction = directions[event.key];
  if (direction === undefined || event.ctrlKey || event.metaKey) return null;
  const px = event.altKey ? 1 : stepPx / scale;
  const by = { x: direction.x * px, y: direction.y * px };
  if (!event.shiftKey) return moved(size, settings, by);
  const handle: Handle = { x: direction.x === 0 ? 0 : 1, y: direction.y === 0 ? 0 : 1 };
  return resized(size, settings, handle, by);
}

interface CropFrameProps extends FrameInput {
  readonly rect: Rect;
}

function CropFrame({ rect, ...input }: CropFrameProps) {
  const t = useTranslations("edit.crop");
  const { size, settings, scale, onChange } = input;
  const pointer = useFramePointer(input);
  const kept = toParams(size, settings).rect;
  const keys = {
    onKeyDown: (event: KeyboardEvent) => {
      const next = stepped(input, event);
      if (next === null) return;
      event.preventDefault();
      onChange(next);
    },
  };
  return (
    <div
      role="application"
      aria-label={t("frame", kept)}
      aria-describedby={frameHelpId}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the frame takes arrow keys
      tabIndex={0}
      {...pointer(middle)}
      {...keys}
      className="absolute cursor-move touch-none shadow-[0_0_0_9999px_rgb(0_0_0/58%)] ring-1 ring-white outline-offset-4"
      style={{
        left: rect.left * scale,
        top: rect.top * scale,
        width: rect.width * scale,
        height: rect.height * scale,
      }}
    >
      <Lines parts={settings.angle === 0 ? 3 : 9} />
      {handles.map(({ cursor, ...handle }) => (
        <span
          key={`${handle.x} ${handle.y}`}
          aria-hidden
          {...pointer(handle)}
          className={cx(
            "absolute flex size-11 -translate-1/2 touch-none items-center justify-center",
            cursor,
          )}
          style={{ left: `${(handle.x + 1) * 50}%`, top: `${(handle.y + 1) * 50}%` }}
        >
          <i className="size-3 rounded-full bg-white shadow-[0_0_0_1px_rgb(0_0_0/70%)]" />
        </span>
      ))}
    </div>
  );
}

interface CropStageProps {
  readonly image: ImageView;
  readonly given: CropSettings;
  readonly onChange: (settings: CropSettings) => void;
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
  const rect = rectOf(size, settings);
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
          <CropFrame rect={rect} size={size} settings={settings} scale={scale} onChange={onChange} />
        </div>
      )}
      <p id={frameHelpId} className="sr-only">
        {t("help")}
      </p>
    </div>
  );
}
