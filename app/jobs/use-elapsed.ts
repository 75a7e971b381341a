"use client";
import { useEffect, useState } from "react";

/** Whole seconds since a moment, counted on while something runs. */
export function useElapsedSeconds(sinceIso: string, untilIso: string | null): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    if (untilIso !== null) return undefined;
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [untilIso]);
  const endMs = untilIso === null ? nowMs : Date.parse(untilIso);
  return Math.max(0, Math.floor((endMs - Date.parse(sinceIso)) / 1_000));
}
