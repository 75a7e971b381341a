"use client";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { type ReactNode, useId } from "react";
import type { FigureWindow, QueueFigures } from "@atelier/server/monitoring";
import { LiveData, useOverview, useWindow } from "../live.tsx";
import { useSpans, Sparkline, Times, useInPhrase } from "../parts.tsx";

/** The requirements of a queue for a node, as a sentence. */
function useQueueNeeds(): (queue: QueueFigures) => string {
  const t = useTranslations("admin.queues");
  const jobs = useTranslations("jobs");
  return ({ queue, needs }) => {
    if (needs === null) return t(queue === "cloud" ? "cloud" : "unknown");
    const kindName = (kind: string) => {
      const key = `kinds.${kind}` as "kinds.upscale";
      return jobs.has(key) ? jobs(key) : kind;
    };
    const parts = [
      needs.minVramGib > 0 && t("vram", { gib: needs.minVramGib }),
      needs.minCores > 0 && t("cores", { count: needs.minCores }),
      needs.minMemoryGib > 0 && t("memory", { gib: needs.minMemoryGib }),
      needs.kinds && t("kinds", { kinds: needs.kinds.map(kindName).join(", ") }),
      needs.models && t("models", { models: needs.models.join(", ") }),
    ].filter((part) => typeof part === "string");
    return t("asks", { what: parts.length === 0 ? t("asksNothing") : parts.join(", ") });
  };
}

/** One figure with its name. */
function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt className="text-xs text-quiet">{name}</dt>
      <dd className="tabular mt-0.5 text-sm">{children}</dd>
    </div>
  );
}

interface Props {
  readonly queue: QueueFigures;
  readonly window: FigureWindow;
}

function Figures({ queue }: Pick<Props, "queue">) {
  const { span } = useSpans();
  const t = useTranslations("admin.queues");
  const inPhrase = useInPhrase();
  const { oldestWaitingMs, waiting, running, slots, window: inWindow } = queue;
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3">
      <Figure name={t("oldest")}>{oldestWaitingMs === null ? t("idle") : span(oldestWaitingMs)}</Figure>
      <Figure name={t("waiting")}>{waiting}</Figure>
      <Figure name={`${t("running")} / ${inPhrase(t("slots"))}`}>{`${running} / ${slots}`}</Figure>
      <Figure name={`${t("completed")} / ${inPhrase(t("failed"))}`}>
        {inWindow.completed}
        <span className="text-quiet"> / </span>
        <span className={inWindow.failed > 0 ? "text-fail" : undefined}>{inWindow.failed}</span>
      </Figure>
      <Figure name={t("wait")}>
        <Times times={inWindow.waitMs} />
      </Figure>
      <Figure name={t("run")}>
        <Times times={inWindow.runMs} />
      </Figure>
    </dl>
  );
}

/** One queue: its requirements, its nodes and its figures. */
function QueueSection({ queue, window }: Props) {
  const t = useTranslations("admin.queues");
  const figures = useTranslations("admin.figures");
  const admin = useTranslations("admin");
  const needsText = useQueueNeeds();
  const id = useId();
  const { completed, failed } = queue.window;
  const label = figures("chart", { completed, failed, window: admin(`inWindows.${window}`) });
  return (
    <section
      aria-labelledby={id}
      className="grid gap-x-10 gap-y-5 py-6 wide:grid-cols-[200px_minmax(0,1fr)] xl:grid-cols-[260px_minmax(0,1fr)_minmax(200px,400px)]"
    >
      <div className="min-w-0">
        <h2 id={id} className="text-base font-medium">
          <Link
            href={`/admin/jobs?queue=${encodeURIComponent(queue.queue)}`}
            className="underline-offset-4 hover:underline"
          >
            {queue.queue}
          </Link>
        </h2>
        <p className="mt-1 text-xs text-quiet">{needsText(queue)}</p>
        <p className="mt-1 text-xs text-quiet">
          {queue.nodes.length === 0 ? t("noNode") : `${t("nodes")}: ${queue.nodes.join(", ")}`}
        </p>
      </div>
      <Figures queue={queue} />
      <Sparkline
        completed={queue.series.completed}
        failed={queue.series.failed}
        label={label}
        className="h-14 w-full wide:max-xl:col-start-2"
      />
    </section>
  );
}

/** The page of queues; the queue with the longest wait comes first. */
export function QueueList() {
  const query = useOverview(useWindow());
  return (
    <LiveData query={query}>
      {(data) => (
        <div className="divide-y divide-line border-y border-line">
          {data.queues.map((queue) => (
            <QueueSection key={queue.queue} queue={queue} window={data.window} />
          ))}
        </div>
      )}
    </LiveData>
  );
}
