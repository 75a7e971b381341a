"use client";
import { useCallback, useEffect, useState } from "react";
import { useBoxSize } from "../../ui/use-box-size.ts";
import type { Point } from "../mask/stroke.ts";
import { fitView, panView, type View, zoomView } from "./view.ts";

interface BoxSize {
  readonly widthPx: number;
  readonly heightPx: number;
}

/** The view of a stage; fitted until somebody moves it. */
export function useView(stage: HTMLElement | null, picture: BoxSize) {
  const size = useBoxSize(stage);
  const [moved, setMoved] = useState<View | null>(null);
  const fitted = fitView(size, { width: picture.widthPx, height: picture.heightPx });
  const view = moved ?? fitted;

  const zoom = useCallback(
    (factor: number, at?: Point) => {
      const middle = { x: size.width / 2, y: size.height / 2 };
      setMoved((before) => zoomView(before ?? fitted, at ?? middle, factor));
    },
    [fitted, size.height, size.width],
  );
  const pan = useCallback(
    (dx: number, dy: number) => setMoved((before) => panView(before ?? fitted, dx, dy)),
    [fitted],
  );
  const fit = useCallback(() => setMoved(null), []);

  useEffect(() => {
    if (stage === null) return undefined;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const box = stage.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), {
        x: event.clientX - box.left,
        y: event.clientY - box.top,
      });
    };
    // React listens passively to the wheel, which could not keep the page from scrolling.
    stage.addEventListener("wheel", wheel, { passive: false });
    return () => stage.removeEventListener("wheel", wheel);
  }, [stage, zoom]);
  return { view, zoom, pan, fit };
}

export type StageView = ReturnType<typeof useView>;
