"use client";
import type { Attention } from "@atelier/server/monitoring";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { Panel } from "./parts/panel.tsx";
import { formatAge } from "./parts/span.ts";

function useSentence(): (item: Attention) => string {
  const t = useTranslations("admin.attention");
  return (item) => {
    switch (item.type) {
      case "queue_without_node":
        return t(item.type, { queue: item.queue, waiting: item.waiting });
      case "node_silent":
      case "node_lost":
        return t(item.type, { node: item.node, span: formatAge(item.ms) });
      case "server_down":
      case "server_degraded":
        return t(item.type, { server: item.server, node: item.node });
      case "node_low_space":
        return t(item.type, { node: item.node });
      case "workflow_refused":
        return t(item.type, { node: item.node, what: item.what });
    }
  };
}

function hrefOf(item: Attention): string {
  if (item.type !== "queue_without_node") return `/admin/nodes#node-${item.nodeId}`;
  return `/admin/jobs?status=open&queue=${encodeURIComponent(item.queue)}`;
}

const keyOf = (item: Attention): string => JSON.stringify({ ...item, ms: 0, waiting: 0 });

/** What needs somebody, each with the way there. */
export function AttentionList({ items }: { readonly items: readonly Attention[] }) {
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
