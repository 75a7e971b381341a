"use client";
import { CircleCheck, CirclePause, CircleX, LogOut, type LucideIcon, Power, Unplug } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { NodeFigures, NodeJob } from "@atelier/server/monitoring";
import { api } from "../../client/api.ts";
import { cx } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/display.tsx";
import { Progress } from "../../ui/progress.tsx";
import { useAddressTarget } from "../controls.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { useSpans, StateChip, type Tone, useAgo } from "../parts.tsx";
import { NodeActions } from "./node-controls.tsx";
import { ServerTable } from "./servers.tsx";

const shownSlots = 24;

/** The queues that a node serves: each slot a square, filled while it is in use. */
function NodeQueues({ node: { queues } }: { readonly node: NodeFigures }) {
  const t = useTranslations("admin.nodes");
  return (
    <div className="min-w-0">
      <h3 className="mb-2 text-xs font-medium text-quiet">{t("queues")}</h3>
      <ul className="flex flex-col gap-2.5">
        {queues.map(({ queue, slots, used, needs }) => (
          <li key={queue} className="flex flex-wrap items-center gap-x-4 gap-y-1 text-xs">
            <span className="min-w-28 font-medium">{queue}</span>
            <span aria-hidden className="flex flex-wrap gap-1">
              {Array.from({ length: Math.min(shownSlots, Math.max(slots, used)) }, (_, at) => at).map(
                (at) => (
                  <span
                    key={at}
                    className={cx(
                      "size-3 rounded-[3px] border",
                      at < used ? "border-info bg-info" : "border-edge",
                    )}
                  />
                ),
              )}
            </span>
            <span className="tabular">{t("slots", { used, slots })}</span>
            <span className="text-quiet" title={needs.join("\n")}>
              {t("serves", { count: needs.length })}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

type Look = readonly [LucideIcon, Tone];

const looks = {
  active: [CircleCheck, "ok"],
  draining: [CirclePause, "warn"],
  leaving: [LogOut, "warn"],
  away: [Unplug, "fail"],
  lost: [CircleX, "fail"],
  gone: [Power, "quiet"],
} as const satisfies Record<string, Look>;

/** The state of a node. `leaving`: it drains because its process ends, not because an admin paused it. `away`: it is silent. */
function NodeStateChip({ node }: { readonly node: NodeFigures }) {
  const t = useTranslations("admin.nodes.states");
  const isLeaving = node.state === "draining" && (!node.drainRequested || node.retireRequested);
  const running = isLeaving ? "leaving" : node.state;
  const state = node.isAway ? "away" : running;
  const [icon, tone] = looks[state];
  return (
    <StateChip icon={icon} tone={tone}>
      {t(state)}
    </StateChip>
  );
}

/** The jobs that a node runs, each with a link to its history. */
function RunningJobs({ jobs }: { readonly jobs: readonly NodeJob[] }) {
  const { span } = useSpans();
  const t = useTranslations("admin.nodes");
  const jobTexts = useTranslations("jobs");
  return (
    <div className="min-w-0">
      <h3 className="mb-2 text-xs font-medium text-quiet">{t("running")}</h3>
      {jobs.length === 0 ? <p className="text-xs text-quiet">{t("nothingRuns")}</p> : null}
      <ul className="flex flex-col gap-2">
        {jobs.map(({ id, kind, queue, progress, sinceMs }) => (
          <li key={id}>
            <Link href={`/admin/jobs/${id}`} className="block text-xs underline-offset-4 hover:underline">
              <span className="tabular flex justify-between gap-4">
                <span className="truncate">
                  {jobTexts(`kinds.${kind}`)}
                  <span className="text-quiet">{` · ${queue}`}</span>
                </span>
                <span className="shrink-0 text-quiet">{span(sinceMs)}</span>
              </span>
              <Progress
                value={progress}
                label={jobTexts("progressOf", { kind: jobTexts(`kinds.${kind}`) })}
                className="mt-1"
              />
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

const gib = 1024 ** 3;

/** One node: its last beat, its jobs, its servers and the actions of an admin. */
function NodeSection({ node }: { readonly node: NodeFigures }) {
  const { span } = useSpans();
  const t = useTranslations("admin.nodes");
  const ago = useAgo();
  const headingId = `node-${node.id}-name`;
  const { cores, memoryBytes } = node.capability;
  const facts = [
    t("host", { hostname: node.hostname, pid: String(node.pid) }),
    t("machine", { cores, gib: Math.round(memoryBytes / gib) }),
    ...node.capability.gpus.map(({ name }) => name),
    t("up", { span: span(node.startedMs) }),
    t("processed", { done: node.processed, failed: node.failed }),
  ];
  return (
    <section
      id={`node-${node.id}`}
      tabIndex={-1}
      aria-labelledby={headingId}
      className="scroll-mt-4 rounded-card border border-line bg-surface p-4 sm:p-5"
    >
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h2 id={headingId} className="text-base font-medium break-all">
              {node.name}
            </h2>
            <NodeStateChip node={node} />
            <span className="tabular text-xs text-quiet">{t("beat", { age: ago(node.seenMs) })}</span>
          </div>
          <p className="tabular mt-1.5 text-xs text-quiet">{facts.join(" · ")}</p>
        </div>
        <NodeActions node={node} />
      </header>
      <div className="mt-5 grid gap-x-10 gap-y-5 wide:grid-cols-2">
        <NodeQueues node={node} />
        <RunningJobs jobs={node.running} />
      </div>
      {node.servers.length === 0 ? null : <ServerTable servers={node.servers} />}
      {node.problems.length === 0 ? null : (
        <div className="mt-5">
          <h3 className="mb-2 text-xs font-medium text-quiet">{t("problems")}</h3>
          <ul className="flex flex-col gap-1.5 text-xs">
            {node.problems.map(({ what, reason }) => (
              <li key={`${what} ${reason}`}>
                <span className="font-medium">{what}</span>
                <span className="text-quiet">{`: ${reason}`}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function EndedNodes({ nodes }: { readonly nodes: readonly NodeFigures[] }) {
  const t = useTranslations("admin.nodes");
  const ago = useAgo();
  return (
    <details>
      <summary className="w-fit text-sm text-quiet hover:text-ink">{`${t("ended")} (${nodes.length})`}</summary>
      <ul className="mt-3 divide-y divide-line border-y border-line">
        {nodes.map((node) => (
          <li
            key={node.id}
            id={`node-${node.id}`}
            tabIndex={-1}
            className="tabular flex flex-wrap items-center gap-x-4 gap-y-1 py-2 text-xs"
          >
            <span className="min-w-40 font-medium">{node.name}</span>
            <NodeStateChip node={node} />
            <span className="text-quiet">{t("endedAgo", { age: ago(node.endedMs) })}</span>
            <span className="text-quiet">
              {t("processed", { done: node.processed, failed: node.failed })}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

const isLive = ({ state }: NodeFigures) => state === "active" || state === "draining";

function Nodes({ nodes }: { readonly nodes: readonly NodeFigures[] }) {
  const t = useTranslations("admin.nodes");
  useAddressTarget();
  const live = nodes.filter(isLive);
  const ended = nodes.filter((node) => !isLive(node));
  return (
    <div className="flex flex-col gap-6">
      {live.length === 0 ? <EmptyState title={t("empty")} text={t("emptyText")} /> : null}
      {live.map((node) => (
        <NodeSection key={node.id} node={node} />
      ))}
      {ended.length === 0 ? null : <EndedNodes nodes={ended} />}
    </div>
  );
}

/** Every live node with its servers, and below them those that ended within a day. */
export function NodeList() {
  const query = useLiveQuery(["nodes"], () => api.admin.nodes.list.query());
  return <LiveData query={query}>{({ items }) => <Nodes nodes={items} />}</LiveData>;
}
