"use client";
import type { Overview } from "@atelier/server/monitoring";
import { useFormatter, useTranslations } from "next-intl";
import { Panel } from "../parts/panel.tsx";
import { Sparkline } from "../parts.tsx";
import { Times } from "../parts/times.tsx";

const minuteMs = 60_000;

/** What ended over the window, of all queues. */
export function ThroughputPanel({ overview }: { readonly overview: Overview }) {
  const t = useTranslations("admin.figures");
  const queues = useTranslations("admin.queues");
  const admin = useTranslations("admin");
  const format = useFormatter();
  const { series, all, window } = overview;
  const time = (at: Date) =>
    format.dateTime(at, {
      ...(window === "7d" ? { weekday: "short" as const } : {}),
      hour: "2-digit",
      minute: "2-digit",
    });
  const start = Date.parse(series.from);
  const label = t("chart", {
    completed: all.completed,
    failed: all.failed,
    window: admin(`inWindows.${window}`),
  });
  return (
    <Panel title={t("throughput")} aside={t(`perStep.${series.stepMs === minuteMs ? "minute" : "hour"}`)}>
      <Sparkline completed={series.completed} failed={series.failed} label={label} className="h-28 w-full" />
      <p className="tabular mt-1.5 flex justify-between text-xs text-quiet">
        <time dateTime={series.from}>{time(new Date(start))}</time>
        <span>{time(new Date(start + series.stepMs * series.completed.length))}</span>
      </p>
      <dl className="tabular mt-4 grid grid-cols-2 gap-x-6 gap-y-3 text-xs sm:grid-cols-5 wide:max-xl:grid-cols-3">
        {(
          [
            [queues("completed"), all.completed],
            [queues("failed"), all.failed],
            [queues("cancelled"), all.cancelled],
            [queues("wait"), <Times key="wait" times={all.waitMs} />],
            [queues("run"), <Times key="run" times={all.runMs} />],
          ] as const
        ).map(([name, value]) => (
          <div key={name}>
            <dt className="text-quiet">{name}</dt>
            <dd className="mt-0.5 text-sm whitespace-nowrap">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
