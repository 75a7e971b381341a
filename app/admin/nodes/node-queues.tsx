"use client";
import type { NodeFigures } from "@atelier/server/monitoring";
import { useTranslations } from "next-intl";
import { cx } from "../../ui/cx.ts";

const shownSlots = 24;

/** The queues that a node serves: each slot a square, filled while it is in use. */
export function NodeQueues({ node: { queues } }: { readonly node: NodeFigures }) {
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
