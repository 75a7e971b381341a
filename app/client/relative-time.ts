"use client";
import { useFormatter } from "next-intl";
import { useStudioNow } from "./use-clock.ts";

const everyMs = 30_000;

/** Says how long ago a time was, by the studio's clock: `5 minutes ago`. */
export function useRelativeTime(): (iso: string) => string {
  const format = useFormatter();
  const nowMs = useStudioNow(everyMs);
  // What is known of the studio's clock may be behind it by a second.
  return (iso) => format.relativeTime(Math.min(Date.parse(iso), nowMs), nowMs);
}
