"use client";
import type { Size } from "@atelier/server/retouch";
import { useEffect, useState } from "react";

/** The largest box with the proportions of the picture that fits into another box, in CSS px. */
export function fitBox(box: Size, picture: { readonly widthPx: number; readonly heightPx: number }): Size {
  const scale = Math.min(box.width / picture.widthPx, box.height / picture.heightPx);
  return { width: picture.widthPx * scale, height: picture.heightPx * scale };
}

const unknown = { width: 0, height: 0 };

/** The inner size of an element in CSS px, kept up to date. */
export function useBoxSize(element: HTMLElement | null) {
  const [size, setSize] = useState(unknown);
  useEffect(() => {
    if (element === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return size;
}
