"use client";
import { Ban, CircleAlert, CircleCheck, Clock, LoaderCircle, type LucideIcon } from "lucide-react";
import { useFormatter, useLocale, useTranslations } from "next-intl";
import { type ReactNode, useCallback, useId, useMemo } from "react";
import type { JobView } from "@atelier/server/jobs";
import type { Times as Figures } from "@atelier/server/monitoring";
import { type SayTime, useSayTime } from "../jobs/text.ts";
import { cx } from "../ui/button.tsx";

export type Tone = "ok" | "warn" | "fail" | "info" | "quiet";

const tones: Record<Tone, string> = {
  ok: "text-ok",
  warn: "text-warn",
  fail: "text-fail",
  info: "text-info",
  quiet: "text-quiet",
};

interface StateChipProps {
  readonly icon: LucideIcon;
  readonly tone: Tone;
  readonly children: string;
  readonly spins?: boolean;
}

/** A state as text with an icon; the colour alone says nothing. */
export function StateChip({ icon: Icon, tone, children, spins = false }: StateChipProps) {
  return (
    <span
      className={cx(
        "inline-flex h-6 max-w-full items-center gap-1.5 rounded-full border border-line bg-surface px-2 text-xs font-medium whitespace-nowrap",
        tones[tone],
      )}
    >
      <Icon
        aria-hidden
        className={cx("size-3.5 shrink-0", spins && "animate-spin motion-reduce:animate-none")}
        strokeWidth={2}
      />
      <span className="truncate">{children}</span>
    </span>
  );
}

const looks: Record<JobView["status"], readonly [LucideIcon, Tone]> = {
  pending: [Clock, "quiet"],
  queued: [Clock, "quiet"],
  waiting_for_engine: [LoaderCircle, "info"],
  processing: [LoaderCircle, "info"],
  completed: [CircleCheck, "ok"],
  failed: [CircleAlert, "fail"],
  cancelled: [Ban, "quiet"],
};

interface JobStatusChipProps {
  readonly status: JobView["status"];
  readonly isCancelling?: boolean;
}

export function JobStatusChip({ status, isCancelling = false }: JobStatusChipProps) {
  const t = useTranslations("jobs");
  const [icon, tone] = looks[status];
  const isOpen = tone === "info" || status === "pending" || status === "queued";
  return (
    <StateChip icon={icon} tone={tone} spins={tone === "info"}>
      {isCancelling && isOpen ? t("cancelling") : t(`status.${status}`)}
    </StateChip>
  );
}

/** Placeholder until the figures have loaded. */
export function Loading() {
  return (
    <div aria-busy className="flex flex-col gap-3">
      {[64, 40, 52, 36, 48].map((width) => (
        <div key={width} className="h-4 rounded-control bg-well" style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}

interface PanelProps {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

/** A section of a page with its heading. */
export function Panel({ title, aside, children }: PanelProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="min-w-0">
      <div className="mb-3 flex min-h-6 flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h2 id={id} className="text-sm font-medium">
          {title}
        </h2>
        {aside === undefined ? null : <div className="tabular text-xs text-quiet">{aside}</div>}
      </div>
      {children}
    </section>
  );
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A duration as text: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`; a smaller unit is left out when it is 0. */
export function formatSpan(ms: number, say: SayTime): string {
  const known = Math.max(0, ms);
  if (known < 9_950) return say(known / second, "seconds", 1);
  if (known < minute) return say(Math.floor(known / second), "seconds");
  const [big, bigUnit, small, smallUnit] =
    known < hour
      ? ([minute, "minutes", second, "seconds"] as const)
      : known < day
        ? ([hour, "hours", minute, "minutes"] as const)
        : ([day, "days", hour, "hours"] as const);
  const rest = Math.floor((known % big) / small);
  const whole = say(Math.floor(known / big), bigUnit);
  return rest > 0 ? `${whole} ${say(rest, smallUnit)}` : whole;
}

/** Like `formatSpan`, but only the largest unit. */
export function formatAge(ms: number, say: SayTime): string {
  const known = Math.max(0, ms);
  if (known < minute) return say(Math.floor(known / second), "seconds");
  if (known < hour) return say(Math.floor(known / minute), "minutes");
  if (known < 2 * day) return say(Math.floor(known / hour), "hours");
  return say(Math.floor(known / day), "days");
}

/** Durations and ages in the language of the page. */
export function useSpans() {
  const say = useSayTime();
  return useMemo(
    () => ({ span: (ms: number) => formatSpan(ms, say), age: (ms: number) => formatAge(ms, say) }),
    [say],
  );
}

/** Median and 95th percentile of a duration, `12 s / 40 s`; a dash without data. */
export function Times({ times: { p50, p95 } }: { readonly times: Figures }) {
  const { span } = useSpans();
  if (p50 === null || p95 === null) return <span className="text-quiet">–</span>;
  return (
    <>
      {span(p50)}
      <span className="text-quiet"> / </span>
      {span(p95)}
    </>
  );
}

/** An age as text: `4 s ago`; a dash for null. */
export function useAgo(): (ms: number | null) => string {
  const t = useTranslations("admin");
  const { age } = useSpans();
  return useCallback((ms) => (ms === null ? t("none") : t("ago", { span: age(ms) })), [t, age]);
}

const mb = 1_048_576;

/** Bytes as text: `340 MB`, `1.5 GB`, by powers of 1,024. */
export function useSize(): (bytes: number) => string {
  const t = useTranslations("admin.users");
  const format = useFormatter();
  return useCallback(
    (bytes) =>
      bytes < 1_024 * mb
        ? t("mb", { size: format.number(bytes / mb, { maximumFractionDigits: bytes < 10 * mb ? 1 : 0 }) })
        : t("gb", { size: format.number(bytes / mb / 1_024, { maximumFractionDigits: 1 }) }),
    [t, format],
  );
}

interface SparklineProps {
  readonly completed: readonly number[];
  readonly failed: readonly number[];
  /** The content of the chart as text. */
  readonly label: string;
  readonly className: string;
}

const height = 32;
const gap = 0.3;

/** Bar chart over time: completed jobs, and failed jobs stacked on top. The page also shows the figures as text. */
export function Sparkline({ completed, failed, label, className }: SparklineProps) {
  const most = Math.max(1, ...completed.map((count, at) => count + (failed[at] ?? 0)));
  const y = (count: number) => (count / most) * (height - 1);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${completed.length} ${height}`}
      preserveAspectRatio="none"
      className={className}
    >
      <rect x="0" y={height - 0.5} width={completed.length} height="0.5" className="fill-edge" />
      {completed.map((count, at) => {
        const [done, bad] = [y(count), y(failed[at] ?? 0)];
        return (
          // oxlint-disable-next-line react/no-array-index-key -- the index of a bar is its time step
          <g key={at}>
            <rect x={at + gap / 2} width={1 - gap} y={height - done} height={done} className="fill-quiet" />
            <rect
              x={at + gap / 2}
              width={1 - gap}
              y={height - done - bad}
              height={bad}
              className="fill-fail"
            />
          </g>
        );
      })}
    </svg>
  );
}

/** A name inside of a phrase: small, but for German, which writes its nouns with a capital letter everywhere. */
export function useInPhrase(): (name: string) => string {
  const locale = useLocale();
  return (name) => (locale === "de" ? name : name.toLocaleLowerCase(locale));
}
