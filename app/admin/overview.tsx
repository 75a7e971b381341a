"use client";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import type { Attention, Overview } from "@atelier/server/monitoring";
import { useFailureText } from "../ui/failures.ts";
import { useCloudNames } from "../client/cloud.ts";
import { Connections } from "./checkup.tsx";
import { LiveData, useOverview, useWindow } from "./live.tsx";
import { useSpans, Panel, Sparkline, Times, useAgo } from "./parts.tsx";
import { QueueTable } from "./queue-table.tsx";
import { Cell, Row, Table } from "./table.tsx";

/** The error of the estimated waiting times. */
function EstimatePanel({ overview: { estimate, window } }: { readonly overview: Overview }) {
  const t = useTranslations("admin.figures");
  const admin = useTranslations("admin");
  const format = useFormatter();
  const { span } = useSpans();
  const { estimated, within, medianErrorMs } = estimate;
  const inWindow = admin(`inWindows.${window}`);
  return (
    <Panel title={t("estimate")}>
      {within === null ? (
        <p className="text-xs text-quiet">{t("noEstimate", { window: inWindow })}</p>
      ) : (
        <dl className="tabular flex flex-col gap-4 text-xs">
          <div className="flex flex-col-reverse">
            <dt className="text-quiet">
              {t("within")}
              <span className="block">{t("estimated", { count: estimated, window: inWindow })}</span>
            </dt>
            <dd className="text-lg">
              {format.number(within, { style: "percent", maximumFractionDigits: 1 })}
            </dd>
          </div>
          <div className="flex flex-col-reverse">
            <dt className="text-quiet">{t("error")}</dt>
            <dd className="text-lg">{medianErrorMs === null ? "–" : span(medianErrorMs)}</dd>
          </div>
        </dl>
      )}
    </Panel>
  );
}

/** The error codes of failed jobs, the most frequent first, each with a link to its jobs. */
function FailuresPanel({ overview: { failures, window } }: { readonly overview: Overview }) {
  const t = useTranslations("admin.figures");
  const admin = useTranslations("admin");
  const textOf = useFailureText();
  const most = Math.max(1, ...failures.map(({ count }) => count));
  return (
    <Panel title={t("failures")}>
      {failures.length === 0 ? (
        <p className="text-xs text-quiet">{t("noFailures", { window: admin(`inWindows.${window}`) })}</p>
      ) : (
        <ul className="flex flex-col gap-2.5">
          {failures.map(({ code, count }) => (
            <li key={code}>
              <Link
                href={`/admin/jobs?status=failed&code=${code}`}
                title={code}
                className="block text-xs underline-offset-4 hover:underline"
              >
                <span className="tabular flex justify-between gap-4">
                  <span className="truncate">{textOf({ code, message: "" }).title}</span>
                  {count}
                </span>
                <span aria-hidden className="mt-1 block h-[3px] rounded-full bg-line">
                  <span
                    className="block h-full rounded-full bg-fail"
                    style={{ width: `${(count / most) * 100}%` }}
                  />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function useSentence(): (item: Attention) => string {
  const { age } = useSpans();
  const t = useTranslations("admin.attention");
  const nameOf = useCloudNames();
  const dutyName = useDutyName();
  return (item) => {
    if ("duty" in item) return t(item.type, { duty: dutyName(item.duty), failures: item.failures });
    if ("ms" in item) return t(item.type, { node: item.node, span: age(item.ms) });
    switch (item.type) {
      case "no_node":
        return t(item.type);
      case "queue_without_node":
        return t(item.type, { queue: item.queue, waiting: item.waiting });
      case "server_down":
      case "server_degraded":
        return t(item.type, { server: item.server, node: item.node });
      case "node_low_space":
        return t(item.type, { node: item.node });
      case "node_without_store":
        return t(item.type, { node: item.node, reason: item.reason });
      case "bot_unread":
        return item.reason;
      case "workflow_refused":
        return t(item.type, { node: item.node, what: item.what });
      case "provider_setup":
        return t(item.type, {
          provider: nameOf("providers", item.provider),
          model: item.model,
          reason: nameOf("reasons", item.errorClass),
        });
    }
  };
}

function hrefOf(item: Attention): string {
  if (item.type === "provider_setup") return "/admin/providers";
  if (item.type === "duty_failing") return "#duties";
  if (item.type === "no_node") return "/admin/nodes";
  if (item.type !== "queue_without_node") return `/admin/nodes#node-${item.nodeId}`;
  return `/admin/jobs?status=open&queue=${encodeURIComponent(item.queue)}`;
}

const keyOf = (item: Attention): string => JSON.stringify({ ...item, ms: 0, waiting: 0, failures: 0 });

/** What needs attention, each with a link. */
function AttentionList({ items }: { readonly items: readonly Attention[] }) {
  const t = useTranslations("admin.attention");
  const sentence = useSentence();
  if (items.length === 0) {
    return (
      <p className="flex items-center gap-2 text-sm text-quiet">
        <CircleCheck className="size-4 text-ok" aria-hidden />
        {t("calm")}
      </p>
    );
  }
  return (
    <Panel title={t("title")}>
      <ul className="divide-y divide-line border-y border-line">
        {items.map((item) => (
          <li key={keyOf(item)}>
            <Link
              href={hrefOf(item)}
              className="flex items-baseline gap-2.5 py-2 text-sm transition-colors duration-120 hover:bg-hover/60"
            >
              <TriangleAlert className="size-4 shrink-0 translate-y-0.5 text-warn" aria-hidden />
              <span className="tabular min-w-0">
                {sentence(item)}
                {"reason" in item && item.reason !== null ? (
                  <span className="block text-xs break-words text-quiet">{item.reason}</span>
                ) : null}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const minuteMs = 60_000;

/** Completed and failed jobs of all queues in the time window. */
function ThroughputPanel({ overview }: { readonly overview: Overview }) {
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

const secondMs = 1_000;

/** What a recurring work is called; that of a later version by the name that it has there. */
function useDutyName(): (name: string) => string {
  const t = useTranslations("admin.duties");
  return (name) => {
    // Safe cast: `has` looks whether there is one.
    const key = `names.${name.toLowerCase().replaceAll(/[ -]/g, "_")}` as "names.vectors";
    return t.has(key) ? t(key) : name;
  };
}

function DutyTable({ duties }: Pick<Overview, "duties">) {
  const t = useTranslations("admin.duties");
  const nameOf = useDutyName();
  const ago = useAgo();
  const { span: spanOf } = useSpans();
  const span = (ms: number) => (ms < secondMs ? t("ms", { ms }) : spanOf(ms));
  return (
    <Table caption={t("title")} columns={[t("work"), t("done"), t("took")]} numeric={[2]}>
      {duties.map(({ name, doneAgeMs, tookMs, failures, error, isRunning }) => (
        <Row key={name}>
          <Cell label={t("work")} isHead className="md:w-3/5">
            <span className="block first-letter:uppercase">{nameOf(name)}</span>
            {failures > 0 ? (
              <span className="block break-words text-fail">
                {t("failed", { failures, error: error ?? "" })}
              </span>
            ) : null}
          </Cell>
          <Cell label={t("done")} className="md:w-1/4">
            {isRunning ? t("running") : ago(doneAgeMs)}
          </Cell>
          <Cell label={t("took")} isNumeric>
            {tookMs === null ? "–" : span(tookMs)}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

/** Recurring work of the studio: when it was last done, how long it took, and why it fails. What is fine is folded. */
function Duties({ duties }: Pick<Overview, "duties">) {
  const t = useTranslations("admin.duties");
  const failing = duties.filter(({ failures }) => failures > 0);
  const fine = duties.filter(({ failures }) => failures === 0);
  return (
    <div id="duties">
      <Panel title={t("title")}>
        {failing.length === 0 ? null : <DutyTable duties={failing} />}
        {duties.length === 0 ? <p className="text-xs text-quiet">{t("empty")}</p> : null}
        {fine.length === 0 ? null : (
          <details>
            <summary className="cursor-pointer py-2 text-xs text-quiet hover:text-ink">
              {t("fine", { count: fine.length })}
            </summary>
            <DutyTable duties={fine} />
          </details>
        )}
      </Panel>
    </div>
  );
}

/** The overview page. Its queues are sorted by their longest wait. */
export function OverviewFigures() {
  const query = useOverview(useWindow());
  return (
    <LiveData query={query}>
      {(data) => (
        <div className="flex flex-col gap-9">
          <AttentionList items={data.attention} />
          <QueueTable overview={data} />
          <Connections />
          <div className="grid gap-x-12 gap-y-9 wide:grid-cols-[minmax(0,2fr)_minmax(0,1fr)_minmax(0,1fr)]">
            <ThroughputPanel overview={data} />
            <FailuresPanel overview={data} />
            <EstimatePanel overview={data} />
          </div>
          <Duties duties={data.duties} />
        </div>
      )}
    </LiveData>
  );
}
