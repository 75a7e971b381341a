"use client";
import type { NodeFigures } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { EmptyState } from "../../ui/display.tsx";
import { LiveData } from "../live.tsx";
import { useAddressTarget } from "../parts/use-address-target.ts";
import { useAgo } from "../parts/use-ago.ts";
import { useLiveQuery } from "../parts/use-live-query.ts";
import { NodeSection } from "./nodes.tsx";
import { NodeStateChip } from "./node-state-chip.tsx";

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
