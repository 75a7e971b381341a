"use client";
import { useEffect, useState } from "react";
import { studioNow, watchClock } from "./clock.ts";

/** The time by the studio's clock, again after each of these times; null stops it. */
export function useStudioNow(everyMs: number | null): number {
  const [nowMs, setNowMs] = useState(studioNow);
  useEffect(() => {
    if (everyMs === null) return undefined;
    const look = () => setNowMs(studioNow());
    look();
    return watchClock(look, everyMs);
  }, [everyMs]);
  return nowMs;
}
