"use client";
import { ChevronLeft, ChevronRight, Pause, Play, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { draftKeys, readDraft, writeDraft } from "../../client/leaving.ts";
import { imageUrl } from "../../client/urls.ts";
import { useImageName } from "../../pictures/picture.tsx";
import { cx, IconButton } from "../../ui/button.tsx";
import { Segmented } from "../../ui/fields.tsx";
import { isCombined, keyOnce } from "../../ui/key-press.ts";

const paces = ["3", "5", "10", "30"] as const;
type Pace = (typeof paces)[number];
const usualPace: Pace = "5";

const readPace = (): Pace => paces.find((pace) => pace === readDraft(draftKeys.slideshow)) ?? usualPace;

/** Fills the screen where the browser lets a page do so; leaving that ends the show. */
function useFullScreen(room: RefObject<HTMLElement | null>, onEnd: () => void): void {
  const ended = useEffectEvent(onEnd);
  useEffect(() => {
    const element = room.current;
    const leave = () => {
      if (document.fullscreenElement === element && element !== null) void document.exitFullscreen();
    };
    const change = () => {
      if (document.fullscreenElement === null) ended();
    };
    let isLeft = false;
    // An iPhone has none for pages, and a browser may refuse it: the show fills the window then.
    void element
      ?.requestFullscreen?.()
      .then(() => {
        if (isLeft) leave();
        else document.addEventListener("fullscreenchange", change);
      })
      .catch(() => undefined);
    return () => {
      isLeft = true;
      document.removeEventListener("fullscreenchange", change);
      leave();
    };
  }, [room]);
}

/** Keeps the screen on while the show runs; a browser lets go of it whenever the page is hidden. */
function useScreenOn(isWanted: boolean): void {
  useEffect(() => {
    if (!isWanted || !("wakeLock" in navigator)) return undefined;
    let lock: WakeLockSentinel | null = null;
    let isOver = false;
    const ask = () => {
      if (document.visibilityState !== "visible") return;
      navigator.wakeLock
        .request("screen")
        .then((given) => {
          if (isOver) void given.release();
          else lock = given;
        })
        // Refused where the battery is low: the show goes on without.
        .catch(() => undefined);
    };
    ask();
    document.addEventListener("visibilitychange", ask);
    return () => {
      isOver = true;
      document.removeEventListener("visibilitychange", ask);
      void lock?.release();
    };
  }, [isWanted]);
}

const restMs = 2_500;

/** Whether a pointer has moved or a key was pressed just now: the buttons are seen then. */
function useStirred(): boolean {
  const [isStirred, setStirred] = useState(true);
  useEffect(() => {
    let timer = setTimeout(() => setStirred(false), restMs);
    const stir = () => {
      clearTimeout(timer);
      setStirred(true);
      timer = setTimeout(() => setStirred(false), restMs);
    };
    const signs = ["pointermove", "pointerdown", "keydown"] as const;
    for (const sign of signs) window.addEventListener(sign, stir);
    return () => {
      clearTimeout(timer);
      for (const sign of signs) window.removeEventListener(sign, stir);
    };
  }, []);
  return isStirred;
}

interface Props {
  readonly image: ImageView;
  readonly next: string | undefined;
  readonly onStep: (by: number) => void;
  readonly onEnd: () => void;
}

/** The pictures of the list one after the other. The next one is read ahead, and none is timed before it is seen. */
export function Slideshow({ image, next, onStep, onEnd }: Props) {
  const t = useTranslations("viewer.slideshow");
  const viewer = useTranslations("viewer");
  const name = useImageName(true)(image);
  const room = useRef<HTMLDivElement>(null);
  const [pace, setPace] = useState(readPace);
  const [isPaused, setPaused] = useState(false);
  const [seenId, setSeenId] = useState<string | null>(null);
  const isStirred = useStirred();
  // At the end of the list it waits for more of it.
  const isRunning = !isPaused && next !== undefined;
  const isTimed = isRunning && seenId === image.id;
  useFullScreen(room, onEnd);
  useScreenOn(!isPaused);
  const goOn = useEffectEvent(() => onStep(1));
  useEffect(() => {
    if (!isTimed) return undefined;
    const timer = setTimeout(goOn, Number(pace) * 1_000);
    return () => clearTimeout(timer);
  }, [image.id, isTimed, pace]);
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (isCombined(event)) return;
    const isOn = (what: string) => event.target instanceof Element && event.target.closest(what) !== null;
    const acts: Record<string, () => void> = {
      Escape: onEnd,
      p: onEnd,
      ...(isOn("button, [role=radio]") ? {} : { " ": () => setPaused((was) => !was) }),
      ...(isOn("[role=radio]") ? {} : { ArrowLeft: () => onStep(-1), ArrowRight: () => onStep(1) }),
    };
    const act = acts[keyOnce(event)];
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  useLayoutEffect(() => {
    // In the capture phase: the dialog below would close by Escape.
    const listener = (event: KeyboardEvent) => press(event);
    window.addEventListener("keydown", listener, { capture: true });
    return () => window.removeEventListener("keydown", listener, { capture: true });
  }, []);
  useEffect(() => room.current?.focus(), []);
  const choose = (chosen: Pace) => {
    setPace(chosen);
    writeDraft(draftKeys.slideshow, chosen);
  };
  const isBarSeen = isStirred || isPaused;
  return (
    <div
      ref={room}
      role="group"
      tabIndex={-1}
      aria-label={t("title")}
      className={cx("stage fixed inset-0 z-10 bg-paper text-ink outline-none", !isBarSeen && "cursor-none")}
    >
      <img
        key={image.id}
        src={imageUrl(image.id, "original")}
        alt={name}
        onLoad={() => setSeenId(image.id)}
        onError={() => setSeenId(image.id)}
        className="absolute inset-0 size-full object-contain motion-safe:animate-develop"
      />
      {next === undefined ? null : <img src={imageUrl(next, "original")} alt="" className="hidden" />}
      <div
        className={cx(
          "absolute inset-x-0 bottom-0 flex flex-wrap items-center justify-center gap-2 bg-paper/80 p-3 transition-opacity duration-200 focus-within:opacity-100 motion-reduce:transition-none",
          isBarSeen ? "opacity-100" : "opacity-0",
        )}
      >
        <IconButton label={viewer("previous")} keys="ArrowLeft" side="top" onClick={() => onStep(-1)}>
          <ChevronLeft aria-hidden />
        </IconButton>
        <IconButton
          label={t(isPaused ? "play" : "pause")}
          keys="Space"
          side="top"
          onClick={() => setPaused((was) => !was)}
        >
          {isPaused ? <Play aria-hidden /> : <Pause aria-hidden />}
        </IconButton>
        <IconButton label={viewer("next")} keys="ArrowRight" side="top" onClick={() => onStep(1)}>
          <ChevronRight aria-hidden />
        </IconButton>
        <Segmented
          label={t("pace")}
          value={pace}
          options={paces.map((value) => ({ value, label: t("seconds", { count: Number(value) }) }))}
          onChange={choose}
        />
        <IconButton label={t("end")} keys="Escape" side="top" onClick={onEnd}>
          <X aria-hidden />
        </IconButton>
      </div>
    </div>
  );
}
