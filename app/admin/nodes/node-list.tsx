"use client";
import { useTranslations } from "next-intl";
import { api } from "../../data/api.ts";
import { LoadFailed } from "../../frame/load-failed.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Loading } from "../parts/loading.tsx";
import { useAgo } from "../parts/use-ago.ts";
import { useLiveQuery } from "../parts/use-live-query.ts";
import { NodeSection } from "./node-section.tsx";
import { NodeStateChip } from "./node-state-chip.tsx";

/** Every live node with its servers, and below them those that ended within a day. */
export function NodeList() {
  const t = useTranslations("admin.nodes");
  const ago = useAgo();
  const { data, error, refetch } = useLiveQuery(["nodes"], () => api.admin.nodes.list.query());
  if (data === undefined)
    return error === null ? <Loading /> : <LoadFailed error={error} onRetry={() => void refetch()} />;
  const isLive = ({ state }: (typeof data.items)[number]) => state === "active" || state === "draining";
  const live = data.items.filter(isLive);
  const ended = data.items.filter((node) => !isLive(node));
  return (
    <div className="flex flex-col gap-6">
      {live.length === 0 ? <EmptyState title={t("empty")} text={t("emptyText")} /> : null}
      {live.map((node) => (
        <NodeSection key={node.id} node={node} />
      ))}
      {ended.length === 0 ? null : (
        <details>
          <summary className="w-fit text-sm text-quiet hover:text-ink">{`${t("ended")} (${ended.length})`}</summary>
          <ul className="mt-3 divide-y divide-line border-y border-line">
            {ended.map((node) => (
              <li
                key={node.id}
                id={`node-${node.id}`}
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
      )}
    </div>
  );
}
