"use client";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The largest box of a picture's proportions inside another, in CSS px. */
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

const never = () => () => undefined;

/** False while a page takes over the server's HTML, which must not differ from what was sent. */
export function useIsHydrated(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}

/** A value once it has not changed for a while. */
export function useSettled<Value>(value: Value, quietMs: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), quietMs);
    return () => clearTimeout(timer);
  }, [quietMs, value]);
  return settled;
}

/** Calls for more when the returned element comes within a screen's height of the view. */
export function useNearEnd(onNear: () => void, isEnabled: boolean) {
  const ref = useRef<HTMLDivElement>(null);
  const latest = useRef(onNear);
  useEffect(() => {
    latest.current = onNear;
  });
  useEffect(() => {
    const element = ref.current;
    if (element === null || !isEnabled) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) latest.current();
      },
      { rootMargin: "100% 0px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [isEnabled]);
  return ref;
}
