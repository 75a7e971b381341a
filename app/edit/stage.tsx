"use client";
import { useTranslations } from "next-intl";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../client/urls.ts";
import { ZoomControls, zoomStep } from "../pictures/zoom-controls.tsx";
import { cx } from "../ui/button.tsx";
import { useHeldOriginal } from "./held-original.ts";
import { BrushRing, MaskTint, OutlineLayer, type PlaceRing, type Tint } from "./overlay.tsx";
import { type EditorSession, sizeOf, type ToolId, type ToolOptions } from "./session.ts";
import { type Look, type StageView, useStageKeys, useView } from "./stage-input.ts";
import { type Gestures, useStagePointers } from "./stage-pointers.ts";
import { useCommands } from "./tools/own-keys.ts";
import { toolOf } from "./tools/registry.ts";
import { ClickDots, SelectionState, type Selections } from "./tools/select.tsx";
import type { Outline, Surface } from "./tools/tool.ts";

/** Diameter of the cursor of a tool without a brush, in CSS px. */
const pointRingPx = 18;

const cursors = {
  move: "cursor-grab active:cursor-grabbing",
  ring: "cursor-none",
  cross: "cursor-crosshair",
} as const;

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

interface OverPictureProps {
  readonly originalId: string | undefined;
  readonly children: ReactNode;
}

/** What lies over the picture; the picture as it was at first while its key is held, of another size as far as it fits. */
function OverPicture({ originalId, children }: OverPictureProps) {
  const t = useTranslations("edit");
  const isHeld = useHeldOriginal();
  if (!isHeld || originalId === undefined) return children;
  return (
    <img
      src={imageUrl(originalId, "preview")}
      alt={t("originalAlt")}
      draggable={false}
      className="checker absolute inset-0 size-full object-contain select-none"
    />
  );
}

interface Ringed {
  readonly shown: keyof typeof cursors;
  readonly options: Pick<ToolOptions, "sizePx">;
  readonly view: StageView["view"];
}

/** Diameter of the ring, in CSS px; 0 where there is none. */
function ringPx({ shown, options, view }: Ringed): number {
  if (shown === "ring") return options.sizePx * view.scale;
  return shown === "cross" ? pointRingPx : 0;
}

interface EditStageProps {
  readonly image: ImageView;
  readonly session: EditorSession;
  /** Missing where nothing can select. */
  readonly selection?: Selections | null;
  /** Missing where nothing remembers the view. */
  readonly look?: Look;
  /** The picture that the key for the original shows; missing where there is none. */
  readonly originalId?: string;
  /** Lies over the picture, in its px. */
  readonly children?: (stage: StageView) => ReactNode;
}

/** The picture with its mask; takes pointer, wheel and keyboard input. */
export function EditStage({ image, session, selection = null, look, originalId, children }: EditStageProps) {
  const t = useTranslations("edit");
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const tint = useRef<Tint>(null);
  const outline = useRef<Outline>(null);
  const ring = useRef<PlaceRing>(null);
  const stage = useView(element, image, look);
  const { history, step, options } = session;
  const tool = toolOf(session.tool);
  const surface = (): Surface => ({
    size: sizeOf(image),
    scale: stage.view.scale,
    marks: history.marks,
    options,
    outline: {
      add: (point) => outline.current?.add(point),
      set: (points) => outline.current?.set(points),
    },
    show: (draft, box) => tint.current?.paint(draft.read(), box),
    hide: () => tint.current?.reset(),
    add: (mark) => step({ type: "add", mark }),
    pan: stage.pan,
    select: selection,
  });
  const [isPanning, setPanning] = useState(false);
  const pointers = useStagePointers({
    stage,
    tool,
    isPanning,
    surface,
    onHover: (at) => {
      if (tool.cursor === "ring") ring.current?.(at);
    },
  });
  const { gestures, pans } = pointers;
  const keyboard = useStageKeys({ stage, tool, picture: image, options, gestures, setPanning });
  useEndWith(gestures, session.tool);
  useCommands({
    zoomIn: () => stage.zoom(zoomStep),
    zoomOut: () => stage.zoom(1 / zoomStep),
    fit: stage.fit,
    actualSize: () => stage.zoom(1 / stage.view.scale),
  });
  const { view } = stage;
  const { cursor } = keyboard;
  const place = useMemo(
    () => (cursor === null ? null : { x: view.x + cursor.x * view.scale, y: view.y + cursor.y * view.scale }),
    [cursor, view],
  );
  const shown = pans ? "move" : tool.cursor;
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
          "absolute inset-0 touch-none overflow-hidden [-webkit-touch-callout:none] focus-visible:-outline-offset-2",
          selection?.isPending === true ? "cursor-progress" : cursors[shown],
        )}
      >
        <StagePicture image={image} view={view}>
          <OverPicture originalId={originalId}>
            <MaskTint ref={tint} image={image} marks={history.marks} />
            {children?.(stage)}
          </OverPicture>
          <OutlineLayer ref={outline} size={image} />
        </StagePicture>
        <BrushRing ref={ring} diameterPx={ringPx({ shown, options, view })} at={place} />
        {session.tool === "select" && selection !== null ? (
          <ClickDots marks={history.marks} pending={selection.pendingClick} view={view} />
        ) : null}
      </div>
      <p id="stage-help" className="sr-only">
        {t(`stageHelps.${session.tool}`)}
      </p>
      <SelectionState selection={selection} />
      <ZoomControls zoomed={view.scale} onZoom={stage.zoom} onFit={stage.fit} />
    </div>
  );
}

/** Another tool ends what was begun with the one before, without a mark. */
function useEndWith({ cancel }: Gestures, tool: ToolId): void {
  const end = useRef(cancel);
  useEffect(() => {
    end.current = cancel;
  });
  useEffect(() => () => void end.current(), [tool]);
}
