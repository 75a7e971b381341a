"use client";
import { useEffect, useState } from "react";

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
