"use client";
import { useQuery } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { JobView } from "@atelier/server/jobs";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { useLiveJobs } from "../live/hooks.tsx";

/** A rounded duration. */
interface RoundTime {
  readonly value: number;
  readonly unit: "seconds" | "minutes" | "hours";
}

const unitMs = { seconds: 1_000, minutes: 60_000, hours: 3_600_000 } as const;

/** Rounding: values below `below` are rounded to multiples of `step`, both in `unit`. */
const scales = [
  { unit: "seconds", below: 10, step: 1 },
  { unit: "seconds", below: 60, step: 5 },
  { unit: "minutes", below: 10, step: 1 },
  { unit: "minutes", below: 60, step: 5 },
  { unit: "hours", below: 5, step: 0.5 },
  { unit: "hours", below: Infinity, step: 1 },
] as const satisfies readonly { unit: RoundTime["unit"]; below: number; step: number }[];

/** Longer durations are rounded more: 8 s, 45 s, 2 min, 35 min, 1.5 h, 7 h. `toWhole` is Math.floor or Math.ceil. */
export function roundTime(ms: number, toWhole: (steps: number) => number): RoundTime {
  for (const { unit, below, step } of scales) {
    const value = Math.max(step, toWhole(ms / unitMs[unit] / step) * step);
    if (value < below) return { value, unit };
  }
  return { value: Infinity, unit: "hours" };
}

export interface Span {
  readonly low: RoundTime;
  readonly high: RoundTime;
  /** Both ends have the same text. */
  readonly isOne: boolean;
}

/** A range in ms as two rounded times that enclose it; null when it ends within half a second, so "at once". */
export function spanOf([lowMs, highMs]: readonly [number, number]): Span | null {
  if (highMs < 500) return null;
  const low = roundTime(lowMs, Math.floor);
  const high = roundTime(Math.max(lowMs, highMs), Math.ceil);
  return { low, high, isOne: low.value === high.value && low.unit === high.unit };
}

type Range = readonly [low: number, high: number];

/** Ranges in ms as text: `about 20 s`, `8 to 15 s`, `40 s to 2 min`. */
export function useTimeText() {
  const t = useTranslations("waiting");
  const time = useCallback(({ value, unit }: RoundTime) => t(`units.${unit}`, { value }), [t]);
  const range = useCallback(
    (given: Range): string | null => {
      const span = spanOf(given);
      if (span === null) return null;
      const high = time(span.high);
      if (span.isOne) return t("about", { time: high });
      const low = span.low.unit === span.high.unit ? String(span.low.value) : time(span.low);
      return t("between", { low, high });
    },
    [t, time],
  );
  const starts = useCallback(
    (waitMs: Range) => {
      const text = range(waitMs);
      return text === null ? t("now") : t("starts", { time: text });
    },
    [range, t],
  );
  const lasts = useCallback((ms: Range) => range(ms) ?? range([1_000, 1_000]) ?? "", [range]);
  const runs = useCallback((runMs: Range) => t("runs", { time: lasts(runMs) }), [lasts, t]);
  return { starts, runs, lasts };
}

const refetchMs = 3_000;

function isWaiting({ status }: Pick<JobView, "status">): boolean {
  return status === "pending" || status === "queued";
}

const none = { items: [], total: 0 } as const;

/** The user's waiting jobs in the order in which they will be served; fetched only while one waits. */
export function useWaiting() {
  const waits = useLiveJobs().some(isWaiting);
  const { data } = useQuery({
    queryKey: keys.waiting,
    queryFn: () => api.jobs.waiting.query(),
    enabled: waits,
    staleTime: refetchMs,
    refetchInterval: refetchMs,
  });
  return waits ? (data ?? none) : none;
}

export interface WaitingText {
  /** Text: the position in the line, or that no server or worker for the job is connected. */
  readonly position: string;
  /** Text: the expected start; null while no server or worker is connected. */
  readonly start: string | null;
  /** No server or worker for the job is connected. */
  readonly isAway: boolean;
}

/** Position and expected start of a waiting job; null for other jobs, and before the first answer. */
export function useWaitingText(job: JobView): WaitingText | null {
  const t = useTranslations("waiting");
  const { starts } = useTimeText();
  const found = useWaiting().items.find(({ id }) => id === job.id);
  if (found === undefined || !isWaiting(job) || job.cancelRequested) return null;
  if (found.awaits === "start")
    return { position: t("away.start"), start: starts(found.waitMs), isAway: false };
  if (found.awaits !== null) return { position: t(`away.${found.awaits}`), start: null, isAway: true };
  return { position: t("place", { count: found.position }), start: starts(found.waitMs), isAway: false };
}
