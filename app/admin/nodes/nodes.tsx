"use client";
import type { NodeFigures } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";
import { formatSpan } from "../parts/span.ts";
import { useAgo } from "../parts/use-ago.ts";
import { NodeActions } from "./node-actions.tsx";
import { NodeQueues } from "./node-queues.tsx";
import { NodeStateChip } from "./node-state-chip.tsx";
import { RunningJobs } from "./running-jobs.tsx";
import { ServerTable } from "./servers.tsx";

const gib = 1024 ** 3;

/** One node: how fresh it is, what it runs, what it can do, and what may be done about it. */
export function NodeSection({ node }: { readonly node: NodeFigures }) {
  const t = useTranslations("admin.nodes");
  const ago = useAgo();
  const headingId = `node-${node.id}-name`;
  const { cores, memoryBytes } = node.capability;
  const facts = [
    t("host", { hostname: node.hostname, pid: String(node.pid) }),
    t("machine", { cores, gib: Math.round(memoryBytes / gib) }),
    ...node.capability.gpus.map(({ name }) => name),
    t("up", { span: formatSpan(node.startedMs) }),
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
