"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { Overview, QueueFigures } from "@atelier/server/monitoring";
import { useSpans, Sparkline, Times, useInPhrase } from "./parts.tsx";
import { Cell, wideOnlyCell, Row, Table } from "./table.tsx";

type Translate = ReturnType<typeof useTranslations<"admin.queues">>;

/** Head of the column with the jobs that ended in the last hour. */
function endedHead(t: Translate, inPhrase: ReturnType<typeof useInPhrase>): string {
  return `${t("completed")} / ${inPhrase(t("failed"))}, ${inPhrase(t("lastHour"))}`;
}

function QueueRow({ queue, window }: { readonly queue: QueueFigures; readonly window: Overview["window"] }) {
  const { span } = useSpans();
  const t = useTranslations("admin.queues");
  const inPhrase = useInPhrase();
  const figures = useTranslations("admin.figures");
  const admin = useTranslations("admin");
  const { oldestWaitingMs, waiting, running, slots, lastHour, window: inWindow, series } = queue;
  const { completed, failed } = inWindow;
  return (
    <Row>
      <Cell label={t("oldest")} className="max-md:col-span-2 md:w-44">
        {oldestWaitingMs === null ? (
          <span className="text-sm text-quiet">{t("idle")}</span>
        ) : (
          <span className="text-lg whitespace-nowrap">{span(oldestWaitingMs)}</span>
        )}
      </Cell>
      <Cell label={t("queue")} isHead className="text-sm font-medium max-md:order-first md:whitespace-nowrap">
        <Link
          href={`/admin/jobs?queue=${encodeURIComponent(queue.queue)}&status=open`}
          className="underline-offset-4 hover:underline"
        >
          {queue.queue}
        </Link>
        {slots === 0 ? <span className="block text-xs font-normal text-quiet">{t("noNode")}</span> : null}
      </Cell>
      <Cell label={t("waiting")} isNumeric>
        {waiting}
      </Cell>
      <Cell label={`${t("running")} / ${t("slots")}`} isNumeric>
        {running}
        <span className="text-quiet">{` / ${slots}`}</span>
      </Cell>
      <Cell label={t("wait")} isNumeric>
        <Times times={inWindow.waitMs} />
      </Cell>
      <Cell label={t("run")} isNumeric>
        <Times times={inWindow.runMs} />
      </Cell>
      <Cell label={endedHead(t, inPhrase)} isNumeric>
        {lastHour.completed}
        <span className="text-quiet"> / </span>
        <span className={lastHour.failed > 0 ? "text-fail" : undefined}>{lastHour.failed}</span>
      </Cell>
      <Cell label={t("throughput")} isHead className={`${wideOnlyCell} md:w-[22%] md:min-w-40`}>
        <Sparkline
          completed={series.completed}
          failed={series.failed}
          label={figures("chart", { completed, failed, window: admin(`inWindows.${window}`) })}
          className="h-7 w-full"
        />
      </Cell>
    </Row>
  );
}

/** One row per queue: its state now, the last hour, and the time window. The queue with the longest wait comes first. */
export function QueueTable({ overview }: { readonly overview: Overview }) {
  const t = useTranslations("admin.queues");
  const inPhrase = useInPhrase();
  return (
    <Table
      caption={t("caption")}
      columns={[
        t("oldest"),
        t("queue"),
        t("waiting"),
        `${t("running")} / ${inPhrase(t("slots"))}`,
        t("wait"),
        t("run"),
        endedHead(t, inPhrase),
        t("throughput"),
      ]}
      numeric={[2, 3, 4, 5, 6]}
      wideOnly={[7]}
    >
      {overview.queues.map((queue) => (
        <QueueRow key={queue.queue} queue={queue} window={overview.window} />
      ))}
    </Table>
  );
}
