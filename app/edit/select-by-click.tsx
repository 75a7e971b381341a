"use client";
import { useTranslations } from "next-intl";
import { useCallback, useEffect, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { failureOf, useFailureToast } from "../client/failures.ts";
import { useCapability } from "../client/queries.ts";
import { Button, cx, Kbd, Spinner } from "../ui/button.tsx";
import { Segmented } from "../ui/fields.tsx";
import { toastFailure } from "../ui/toasts.tsx";
import { type Mark, selectionOf } from "./mask.ts";
import { requestSelection } from "./request-selection.ts";
import type { Click, Point } from "./selection.ts";
import type { EditorSession } from "./session.ts";

/** As many as the server takes. */
const maxClicks = 50;

export interface ClickSelection {
  /** The click whose selection is being made. */
  readonly pending: Click | null;
  /** Selects what is at a point of the picture; does nothing beside the picture and while a selection is made. */
  readonly select: (at: Point, isShift: boolean) => void;
  readonly cancel: () => void;
}

/** The whole px of the picture under a point; null beside the picture. */
function pixelAt({ x, y }: Point, { widthPx, heightPx }: ImageView): Point | null {
  const pixel = { x: Math.floor(x), y: Math.floor(y) };
  return pixel.x >= 0 && pixel.y >= 0 && pixel.x < widthPx && pixel.y < heightPx ? pixel : null;
}

interface Running {
  readonly click: Click;
  readonly stop: AbortController;
}

/** One selection at a time; each is made of all clicks since the mask was empty. */
function useRequests(image: ImageView | undefined, { history, step }: EditorSession) {
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

  async function run(picture: ImageView, clicks: readonly Click[], click: Click): Promise<void> {
    const mine = { click, stop: new AbortController() };
    current.current = mine;
    setRunning(mine);
    try {
      const mark = await requestSelection(picture, clicks, mine.stop.signal);
      if (current.current === mine && mark !== null) step({ type: "add", mark });
    } catch (error) {
      if (mine.stop.signal.aborted) return;
      if (failureOf(error).code === "mask_empty") toastFailure(t("selectEmpty"), t("selectEmptyAdvice"));
      else showFailure(error);
    } finally {
      if (current.current === mine) end();
    }
  }
  function start(picture: ImageView, click: Click): void {
    if (current.current !== null) return;
    const clicks = [...(selectionOf(history.marks)?.clicks ?? []), click];
    if (clicks.every(({ mode }) => mode === "exclude")) toastFailure(t("selectFirst"));
    else if (clicks.length > maxClicks) toastFailure(t("selectLimit", { count: maxClicks }));
    else void run(picture, clicks, click);
  }
  return { pending: running?.click ?? null, start, cancel: end };
}

/** Selecting by clicks in the editor; null while no live server can do it. Escape stops a selection. */
export function useSelectByClick(
  image: ImageView | undefined,
  session: EditorSession,
): ClickSelection | null {
  const isOffered = useCapability("segment")?.means.includes("clicks") === true;
  const { brush, setTool, clickMode } = session;
  const { pending, start, cancel } = useRequests(image, session);
  useEffect(() => {
    if (!isOffered && brush.tool === "select") setTool("brush");
  }, [brush.tool, isOffered, setTool]);
  useEffect(() => {
    if (pending === null) return undefined;
    const press = (event: KeyboardEvent) => event.key === "Escape" && cancel();
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [cancel, pending]);
  if (!isOffered) return null;
  return {
    pending,
    cancel,
    select(at, isShift) {
      const pixel = image === undefined ? null : pixelAt(at, image);
      if (image !== undefined && pixel !== null)
        start(image, { ...pixel, mode: isShift ? "exclude" : clickMode });
    },
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
        "pointer-events-none absolute top-0 left-0 -mt-2 -ml-2 flex size-4 items-center justify-center rounded-full text-xs leading-none font-medium shadow-[0_0_0_1px_rgb(0_0_0/70%)]",
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
export function SelectionState({ selection }: { readonly selection: ClickSelection | null }) {
  const t = useTranslations("edit");
  return (
    <div role="status" className="pointer-events-none absolute inset-x-0 top-3 flex justify-center">
      {selection === null || selection.pending === null ? null : (
        <p className="pointer-events-auto flex items-center gap-2 rounded-full bg-raised py-1 pr-1 pl-4 text-xs font-medium shadow-float">
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

const clickModes = ["include", "exclude"] as const;

/** What the panel shows instead of the brush size. */
export function SelectOptions({ session }: { readonly session: EditorSession }) {
  const t = useTranslations("edit");
  const { clickMode, setClickMode, history, step } = session;
  return (
    <section aria-labelledby="select-options" className="flex flex-col items-start gap-2">
      <h2 id="select-options" className="text-xs font-medium">
        {t("toolNames.select")}
      </h2>
      <Segmented
        label={t("clickMode")}
        value={clickMode}
        onChange={setClickMode}
        options={clickModes.map((value) => ({ value, label: t(`clickModes.${value}`) }))}
      />
      <p className="text-xs text-quiet">{t("clickHint")}</p>
      <Button
        look="quiet"
        size="small"
        className="-ml-2.5"
        disabled={history.marks.length === 0}
        onClick={() => step({ type: "clear" })}
      >
        {t("clearMask")}
      </Button>
    </section>
  );
}
