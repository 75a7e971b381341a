"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { isWaiting, useWaiting } from "./use-waiting.ts";
import { useTimeText } from "./use-time-text.ts";

export interface WaitingText {
  /** Its place in the line, or that what can do it is away. */
  readonly place: string;
  /** When it starts; null while that cannot be known. */
  readonly start: string | null;
  readonly isAway: boolean;
}

/** What is known of a job that waits; null when it does not, or nothing is known yet. */
export function useWaitingText(job: JobView): WaitingText | null {
  const t = useTranslations("waiting");
  const { starts } = useTimeText();
  const found = useWaiting().items.find(({ id }) => id === job.id);
  if (found === undefined || !isWaiting(job) || job.cancelRequested) return null;
  if (!found.isLive)
    return { place: t(job.engine === "local" ? "workerAway" : "serverAway"), start: null, isAway: true };
  return { place: t("place", { count: found.position }), start: starts(found.waitMs), isAway: false };
}
