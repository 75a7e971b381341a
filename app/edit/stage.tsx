"use client";
import { Minus, Plus } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ComponentProps, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../client/remix.ts";
import { cx, IconButton } from "../ui/button.tsx";
import { drawStroke, type Mark, selectionOf, type Stroke, strokesOf } from "./mask.ts";
import { ClickDots, type ClickSelection, SelectionState } from "./select-by-click.tsx";
import { drawSelection, type Point } from "./selection.ts";
import type { EditorSession } from "./session.ts";
import { type Look, type StageView, useStageKeys, useView } from "./stage-input.ts";
import { useStagePointers } from "./stage-pointers.ts";

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

/** Size of a canvas for the marks of a picture. */
export function tintSize({ widthPx, heightPx }: Picture): {
  readonly width: number;
  readonly height: number;
} {
  const shrink = Math.min(1, longestEdgePx / Math.max(widthPx, heightPx));
  return { width: Math.round(widthPx * shrink), height: Math.round(heightPx * shrink) };
}

const tintColour = "#ff5a36";
const tintRgb = [0xff, 0x5a, 0x36] as const;

interface MaskCanvasProps {
  readonly ref: RefObject<HTMLCanvasElement | null>;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly marks: readonly Mark[];
}

/** Sets the context so that marks can be drawn in px of the picture. */
function pictureContext(canvas: HTMLCanvasElement, widthPx: number): CanvasRenderingContext2D | null {
  const context = canvas.getContext("2d");
  const scale = canvas.width / widthPx;
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

type Picture = Pick<MaskCanvasProps, "widthPx" | "heightPx">;

/** Draws the whole tint from the marks. */
export function drawTint(canvas: HTMLCanvasElement, { widthPx, heightPx }: Picture, marks: readonly Mark[]) {
  const context = pictureContext(canvas, widthPx);
  if (context === null) return;
  context.clearRect(0, 0, widthPx, heightPx);
  const selection = selectionOf(marks);
  if (selection !== null) {
    const { width, height } = canvas;
    const part = { width, height, top: 0, rows: height, rgb: tintRgb };
    context.putImageData(new ImageData(drawSelection(selection, part), width, height), 0, 0);
  }
  for (const stroke of strokesOf(marks)) drawStroke(context, stroke, tintColour);
}

/** The mask as a tint over the picture. */
function MaskCanvas({ ref, widthPx, heightPx, marks }: MaskCanvasProps) {
  const { width, height } = tintSize({ widthPx, heightPx });
  useEffect(() => {
    if (ref.current !== null) drawTint(ref.current, { widthPx, heightPx }, marks);
  }, [heightPx, ref, marks, width, widthPx]);
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

/** Diameter of the keyboard's cursor when it selects, in CSS px. */
const pointRingPx = 18;

interface ClickLayerProps extends Omit<ComponentProps<typeof ClickDots>, "pending"> {
  readonly selection: ClickSelection | null;
  /** In CSS px of the stage; null while the keyboard is not used. */
  readonly cursor: Point | null;
}

function ClickLayer({ selection, cursor, ...dots }: ClickLayerProps) {
  return (
    <>
      <ClickDots {...dots} pending={selection?.pending ?? null} />
      {cursor === null ? null : <BrushRing at={cursor} diameterPx={pointRingPx} />}
    </>
  );
}

interface StageState {
  readonly paints: boolean;
  readonly selects: boolean;
  readonly selection: ClickSelection | null;
}

function cursorOf({ paints, selects, selection }: StageState): string {
  if (selection !== null && selection.pending !== null) return "cursor-progress";
  if (selects) return "cursor-crosshair";
  return paints ? "cursor-none" : "cursor-grab active:cursor-grabbing";
}

interface StagePictureProps {
  readonly image: ImageView;
  readonly view: StageView["view"];
  /** What lies over the picture, in its px. */
  readonly children: ReactNode;
}

function StagePicture({ image, view, children }: StagePictureProps) {
  const t = useTranslations("edit");
  const { id, widthPx, heightPx } = image;
  const isFine = view.scale * Math.max(widthPx, heightPx) > 1_400;
  return (
    <div
      className="checker absolute top-0 left-0 origin-top-left"
      style={{
        width: widthPx,
        height: heightPx,
        transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})`,
      }}
    >
      <img
        src={imageUrl(id, isFine ? "original" : "preview")}
        alt={t("pictureAlt")}
        draggable={false}
        className="absolute inset-0 size-full select-none"
      />
      {children}
    </div>
  );
}

interface EditStageProps {
  readonly image: ImageView;
  readonly session: EditorSession;
  /** Missing where nothing can select by clicks. */
  readonly selection?: ClickSelection | null;
  /** Missing where nothing remembers the view. */
  readonly look?: Look;
  /** Lies over the picture, in its px. */
  readonly children?: (stage: StageView) => ReactNode;
}

/** The picture with its mask; takes pointer, wheel and keyboard input. */
export function EditStage({ image, session, selection = null, look, children }: EditStageProps) {
  const t = useTranslations("edit");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useView(element, image, look);
  const { brush, history, step } = session;
  const onStroke = (stroke: Stroke) => step({ type: "add", mark: stroke });
  const onDraw = (stroke: Stroke) => {
    const context = canvas.current === null ? null : pictureContext(canvas.current, image.widthPx);
    if (context !== null) drawStroke(context, stroke, tintColour);
  };
  const onDrop = () => {
    if (canvas.current !== null) drawTint(canvas.current, image, history.marks);
  };
  const onClick = (at: Point, isExcluding: boolean) => selection?.select(at, isExcluding);
  const keyboard = useStageKeys({ stage, brush, picture: image, onStroke, onClick });
  const pointers = useStagePointers({
    stage,
    brush,
    isPanning: keyboard.isPanning,
    onDraw,
    onDrop,
    onStroke,
    onClick,
  });
  const { view } = stage;
  const isSelecting = brush.tool === "select";
  const paints = !pointers.pans && !isSelecting;
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
          cursorOf({ paints, selects: isSelecting && !pointers.pans, selection }),
        )}
      >
        <StagePicture image={image} view={view}>
          <MaskCanvas ref={canvas} widthPx={image.widthPx} heightPx={image.heightPx} marks={history.marks} />
          {children?.(stage)}
        </StagePicture>
        {paints && ring !== null ? <BrushRing at={ring} diameterPx={brush.sizePx * view.scale} /> : null}
        {isSelecting ? (
          <ClickLayer
            marks={history.marks}
            selection={selection}
            view={view}
            cursor={keyboard.cursor === null ? null : ring}
          />
        ) : null}
      </div>
      <p id="stage-help" className="sr-only">
        {t(isSelecting ? "stageSelectHelp" : "stageHelp")}
      </p>
      <SelectionState selection={selection} />
      <ZoomControls stage={stage} />
    </div>
  );
}
