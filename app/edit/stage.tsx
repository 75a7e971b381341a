"use client";
import { Minus, Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import { type RefObject, useEffect, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../client/remix.ts";
import { cx, IconButton } from "../ui/button.tsx";
import { drawStroke, type Point, type Stroke } from "./mask.ts";
import type { EditorSession } from "./session.ts";
import { type StageView, useStageKeys, useStagePointers, useView } from "./stage-input.ts";

interface BrushRingProps {
  /** In CSS px of the stage. */
  readonly at: Point;
  readonly diameterPx: number;
}

/** Outline of the brush, in black and white so that it is visible on any picture. */
function BrushRing({ at, diameterPx }: BrushRingProps) {
  return (
    <span
      aria-hidden
      className="pointer-events-none absolute top-0 left-0 rounded-full border border-white shadow-[0_0_0_1px_rgb(0_0_0/70%),inset_0_0_0_1px_rgb(0_0_0/70%)]"
      style={{
        width: diameterPx,
        height: diameterPx,
        transform: `translate(${at.x - diameterPx / 2}px, ${at.y - diameterPx / 2}px)`,
      }}
    />
  );
}

/** Longest edge of the tint's canvas; the mask itself is drawn at the picture's size. */
const longestEdgePx = 2_048;

const tintColour = "#ff5a36";

interface MaskCanvasProps {
  readonly ref: RefObject<HTMLCanvasElement | null>;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly strokes: readonly Stroke[];
}

/** Sets the context so that strokes can be drawn in px of the picture. */
function pictureContext(canvas: HTMLCanvasElement, widthPx: number): CanvasRenderingContext2D | null {
  const context = canvas.getContext("2d");
  const scale = canvas.width / widthPx;
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

type Picture = Pick<MaskCanvasProps, "widthPx" | "heightPx">;

/** Draws the whole tint from the strokes. */
function drawTint(canvas: HTMLCanvasElement, { widthPx, heightPx }: Picture, strokes: readonly Stroke[]) {
  const context = pictureContext(canvas, widthPx);
  if (context === null) return;
  context.clearRect(0, 0, widthPx, heightPx);
  for (const stroke of strokes) drawStroke(context, stroke, tintColour);
}

/** The mask as a tint over the picture. */
function MaskCanvas({ ref, widthPx, heightPx, strokes }: MaskCanvasProps) {
  const shrink = Math.min(1, longestEdgePx / Math.max(widthPx, heightPx));
  const width = Math.round(widthPx * shrink);
  const height = Math.round(heightPx * shrink);
  useEffect(() => {
    if (ref.current !== null) drawTint(ref.current, { widthPx, heightPx }, strokes);
  }, [heightPx, ref, strokes, width, widthPx]);
  return (
    <canvas
      ref={ref}
      width={width}
      height={height}
      aria-hidden
      className="pointer-events-none absolute inset-0 size-full opacity-55"
    />
  );
}

function ZoomControls({ stage }: { readonly stage: StageView }) {
  const t = useTranslations("edit");
  const percent = `${Math.round(stage.view.scale * 100)} %`;
  return (
    <div className="absolute bottom-3 left-1/2 flex -translate-x-1/2 items-center rounded-full bg-raised shadow-float">
      <IconButton
        label={t("zoomOut")}
        keys="-"
        side="top"
        className="rounded-full"
        onClick={() => stage.zoom(0.8)}
      >
        <Minus aria-hidden />
      </IconButton>
      <button
        type="button"
        onClick={stage.fit}
        aria-label={`${percent}, ${t("fit")}`}
        className="tabular h-9 min-w-14 rounded-control text-xs font-medium text-quiet hover:text-ink"
      >
        {percent}
      </button>
      <IconButton
        label={t("zoomIn")}
        keys="+"
        side="top"
        className="rounded-full"
        onClick={() => stage.zoom(1.25)}
      >
        <Plus aria-hidden />
      </IconButton>
    </div>
  );
}

interface EditStageProps {
  readonly image: ImageView;
  readonly session: EditorSession;
}

/** The picture with its mask; takes pointer, wheel and keyboard input. */
export function EditStage({ image, session }: EditStageProps) {
  const t = useTranslations("edit");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useView(element, image);
  const { brush, history, step } = session;
  const onStroke = (stroke: Stroke) => step({ type: "add", stroke });
  const onDraw = (stroke: Stroke) => {
    const context = canvas.current === null ? null : pictureContext(canvas.current, image.widthPx);
    if (context !== null) drawStroke(context, stroke, tintColour);
  };
  const onDrop = () => {
    if (canvas.current !== null) drawTint(canvas.current, image, history.strokes);
  };
  const keyboard = useStageKeys({ stage, brush, picture: image, onStroke });
  const pointers = useStagePointers({
    stage,
    brush,
    isPanning: keyboard.isPanning,
    onDraw,
    onDrop,
    onStroke,
  });
  const { view } = stage;
  const paints = !pointers.pans;
  const ring =
    keyboard.cursor === null
      ? pointers.hover
      : { x: view.x + keyboard.cursor.x * view.scale, y: view.y + keyboard.cursor.y * view.scale };

  return (
    <div className="relative min-h-0 min-w-0 flex-1">
      <div
        ref={setElement}
        role="application"
        aria-label={t("stageLabel")}
        aria-describedby="stage-help"
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the stage takes keyboard input for painting
        tabIndex={0}
        {...keyboard.handlers}
        {...pointers.handlers}
        onPointerDown={(event) => {
          keyboard.hideCursor();
          pointers.handlers.onPointerDown(event);
        }}
        className={cx(
          "absolute inset-0 touch-none overflow-hidden focus-visible:-outline-offset-2",
          paints ? "cursor-none" : "cursor-grab active:cursor-grabbing",
        )}
      >
        <div
          className="checker absolute top-0 left-0 origin-top-left"
          style={{
            width: image.widthPx,
            height: image.heightPx,
            transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})`,
          }}
        >
          <img
            src={imageUrl(
              image.id,
              view.scale * Math.max(image.widthPx, image.heightPx) > 1_400 ? "original" : "preview",
            )}
            alt={t("pictureAlt")}
            draggable={false}
            className="absolute inset-0 size-full select-none"
          />
          <MaskCanvas
            ref={canvas}
            widthPx={image.widthPx}
            heightPx={image.heightPx}
            strokes={history.strokes}
          />
        </div>
        {paints && ring !== null ? <BrushRing at={ring} diameterPx={brush.sizePx * view.scale} /> : null}
      </div>
      <p id="stage-help" className="sr-only">
        {t("stageHelp")}
      </p>
      <ZoomControls stage={stage} />
    </div>
  );
}
