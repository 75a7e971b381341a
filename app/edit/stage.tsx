"use client";
import type { ImageView } from "@atelier/server/images";
import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import { imageUrl } from "../data/image-url.ts";
import { cx } from "../ui/cx.ts";
import { drawStroke } from "./mask/draw-stroke.ts";
import type { Stroke } from "./mask/stroke.ts";
import type { EditorSession } from "./use-editor.ts";
import { BrushRing } from "./stage/brush-ring.tsx";
import { drawTint, MaskCanvas, pictureContext, tintColour } from "./stage/mask-canvas.tsx";
import { useStageKeys } from "./stage/use-stage-keys.ts";
import { useStagePointers } from "./stage-input.ts";
import { useView } from "./stage/use-view.ts";
import { ZoomControls } from "./stage/zoom-controls.tsx";

interface Props {
  readonly image: ImageView;
  readonly session: EditorSession;
}

/** The picture with its mask, under brush, wheel and fingers. */
export function EditStage({ image, session }: Props) {
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
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- an application is where the keyboard paints
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
