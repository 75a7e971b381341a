"use client";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import type { pictureLimits } from "@atelier/server/platform";
import { failureOf, useFailureToast } from "../../ui/failures.ts";
import { useCapability } from "../../client/queries.ts";
import { Button, cx, Kbd, Spinner } from "../../ui/button.tsx";
import { toastFailure } from "../../ui/toasts.tsx";
import { type Mark, selectionOf } from "../mask/marks.ts";
import type { Box } from "../mask/raster.ts";
import type { Click, Point } from "../mask/selection.ts";
import type { EditorSession } from "../session.ts";
import { requestSelection, type Wanted } from "./request-selection.ts";
import type { Selecting } from "./tool.ts";

/** As many as the server takes. */
const maxClicks: (typeof pictureLimits)["clicks"] = 50;

type Means = "clicks" | "box" | "prompt" | "subject";

export interface Selections extends Selecting {
  readonly can: (means: Means) => boolean;
  readonly isPending: boolean;
  /** The click whose selection is being made. */
  readonly pendingClick: Click | null;
  /** Each of several things parted by commas. */
  readonly words: (prompt: string) => void;
  readonly subject: () => void;
  readonly cancel: () => void;
}

/** The whole px of the picture under a point; null beside the picture. */
function pixelAt({ x, y }: Point, { widthPx, heightPx }: ImageView): Point | null {
  const pixel = { x: Math.floor(x), y: Math.floor(y) };
  return pixel.x >= 0 && pixel.y >= 0 && pixel.x < widthPx && pixel.y < heightPx ? pixel : null;
}

/** The part of a box that lies on the picture, in whole px; null when there is none. */
function toWantedBox(box: Box, { widthPx, heightPx }: Pick<ImageView, "widthPx" | "heightPx">) {
  const left = Math.max(0, Math.floor(box.left));
  const top = Math.max(0, Math.floor(box.top));
  const width = Math.min(widthPx, Math.ceil(box.right)) - left;
  const height = Math.min(heightPx, Math.ceil(box.bottom)) - top;
  return width > 0 && height > 0 ? { left, top, width, height } : null;
}

interface Running {
  readonly click: Click | null;
  readonly stop: AbortController;
}

/** One selection at a time; Escape stops it. */
function useRequests(image: ImageView | undefined, { step, options: { effect } }: EditorSession) {
  const t = useTranslations("edit");
  const showFailure = useFailureToast();
  const [running, setRunning] = useState<Running | null>(null);
  const current = useRef<Running | null>(null);
  const end = useCallback(() => {
    current.current?.stop.abort();
    current.current = null;
    setRunning(null);
  }, []);
  // A selection belongs to the version on the stage.
  useEffect(() => end, [end, image?.id]);
  useEffect(() => {
    if (running === null) return undefined;
    const press = (event: KeyboardEvent) => event.key === "Escape" && end();
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [end, running]);

  async function run(picture: ImageView, wanted: Wanted, click: Click | null): Promise<void> {
    const mine = { click, stop: new AbortController() };
    current.current = mine;
    setRunning(mine);
    try {
      const mark = await requestSelection(picture, wanted, mine.stop.signal);
      if (current.current !== mine || mark === null) return;
      step({ type: "add", mark: click === null ? { ...mark, effect } : mark });
    } catch (error) {
      if (mine.stop.signal.aborted) return;
      if (failureOf(error).code !== "mask_empty") showFailure(error);
      else if (click !== null) toastFailure(t("selectEmpty"), t("selectEmptyAdvice"));
      else toastFailure(t("selectNothing"), t("selectNothingAdvice"));
    } finally {
      if (current.current === mine) end();
    }
  }
  const ask = (wanted: Wanted, click: Click | null = null) => {
    if (image !== undefined && current.current === null) void run(image, wanted, click);
  };
  return { running, ask, cancel: end };
}

/** Having engines select in the editor; null while no live engine can. */
export function useSelections(image: ImageView | undefined, session: EditorSession): Selections | null {
  const t = useTranslations("edit");
  const means = useCapability("segment")?.means;
  const { tool, setTool, history, options } = session;
  const { running, ask, cancel } = useRequests(image, session);
  const can = useMemo(() => {
    const able = new Set<Means>(means ?? []);
    return (one: Means) => able.has(one);
  }, [means]);
  const hasTool = can("clicks") || can("box") || can("prompt");
  useEffect(() => {
    if (!hasTool && tool === "select") setTool("brush");
  }, [hasTool, setTool, tool]);
  if (means === undefined || means.length === 0) return null;
  function click(at: Point, isShift: boolean): void {
    const pixel = image === undefined ? null : pixelAt(at, image);
    if (pixel === null || running !== null) return;
    const made: Click = {
      ...pixel,
      mode: isShift || options.clickMode === "exclude" ? "exclude" : "include",
    };
    const clicks = [...(selectionOf(history.marks)?.clicks ?? []), made];
    if (!can("clicks")) toastFailure(t("selectNoClicks"));
    else if (clicks.every(({ mode }) => mode === "exclude")) toastFailure(t("selectFirst"));
    else if (clicks.length > maxClicks) toastFailure(t("selectLimit", { count: maxClicks }));
    else ask({ clicks }, made);
  }
  return {
    can,
    isPending: running !== null,
    pendingClick: running?.click ?? null,
    takesBox: can("box"),
    takesClicks: can("clicks"),
    click,
    box: (box) => {
      const wanted = image === undefined ? null : toWantedBox(box, image);
      if (wanted !== null) ask({ box: wanted });
    },
    words: (prompt) => ask({ prompt }),
    subject: () => ask({ subject: true }),
    cancel,
  };
}

interface ClickDotsProps {
  readonly marks: readonly Mark[];
  readonly pending: Click | null;
  readonly view: { readonly scale: number; readonly x: number; readonly y: number };
}

/** The clicks of the selection, where they were made: plus includes, minus excludes. */
export function ClickDots({ marks, pending, view }: ClickDotsProps) {
  const made = selectionOf(marks)?.clicks ?? [];
  return [...made, ...(pending === null ? [] : [pending])].map((click, at) => (
    <span
      key={`${at} ${click.x} ${click.y}`}
      aria-hidden
      className={cx(
        "pointer-events-none absolute top-0 left-0 -mt-2 -ms-2 flex size-4 items-center justify-center rounded-full text-xs leading-none font-medium shadow-[0_0_0_1px_rgb(0_0_0/70%)]",
        click.mode === "include" ? "bg-white text-black" : "bg-black text-white",
        click === pending && "animate-breathe",
      )}
      style={{
        transform: `translate(${view.x + (click.x + 0.5) * view.scale}px, ${view.y + (click.y + 0.5) * view.scale}px)`,
      }}
    >
      {click.mode === "include" ? "+" : "−"}
    </span>
  ));
}

/** Says over the picture that a selection is being made, and stops it. */
export function SelectionState({ selection }: { readonly selection: Selections | null }) {
  const t = useTranslations("edit");
  return (
    <div role="status" className="pointer-events-none absolute inset-x-0 top-3 flex justify-center">
      {selection === null || !selection.isPending ? null : (
        <p className="pointer-events-auto flex items-center gap-2 rounded-full bg-raised py-1 pe-1 ps-4 text-xs font-medium shadow-float">
          <Spinner />
          {t("selecting")}
          <Button look="quiet" size="small" className="rounded-full" onClick={selection.cancel}>
            {t("selectCancel")}
            <span className="hidden sm:pointer-fine:inline">
              <Kbd keys="Escape" />
            </span>
          </Button>
        </p>
      )}
    </div>
  );
}
