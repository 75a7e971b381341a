"use client";
import { useEffect, useRef } from "react";

/** Calls `onNear` when the element of the returned ref is less than a screen height below the visible area. */
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

/**
 * Scrolls a strip so that the part which matches is in its middle whenever `chosen` or the number of `parts` changes, or the
 * size of anything in it, as when its font arrives; the page stays where it is.
 */
export function useCentred<Strip extends HTMLElement>(selector: string, chosen: unknown, parts?: number) {
  const ref = useRef<Strip>(null);
  useEffect(() => {
    const strip = ref.current;
    const part = strip?.querySelector(selector);
    if (!strip || !part) return undefined;
    const observer = new ResizeObserver(() => {
      const [own, whole] = [part.getBoundingClientRect(), strip.getBoundingClientRect()];
      strip.scrollLeft += own.left - whole.left - (whole.width - own.width) / 2;
    });
    for (const each of [strip, ...strip.querySelectorAll("*")]) observer.observe(each);
    return () => observer.disconnect();
  }, [selector, chosen, parts]);
  return ref;
}
