"use client";
import { GripVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { useId, useState } from "react";
import { api } from "../../client/api.ts";
import { useCloudNames } from "../../client/cloud.ts";
import { IconButton } from "../../ui/button.tsx";
import { moveItem, useReorder } from "../../ui/reorder.ts";
import { useAdminAction } from "../controls.tsx";
import { Panel } from "../parts.tsx";

type Chain = Awaited<ReturnType<typeof api.admin.cloud.providers.query>>["chains"][number];

/** The order that the admin gave, until the next report has it. */
function useChainOrder({ model, providers }: Chain) {
  const [given, setGiven] = useState<Chain["providers"] | null>(null);
  const { mutate } = useAdminAction(async (order: Chain["providers"]) => {
    try {
      await api.admin.cloud.order.mutate({ model, providers: [...order] });
    } finally {
      setGiven(null);
    }
  });
  const order = given ?? providers;
  /** False when the provider may not move to that index. */
  const move = (from: number, to: number): boolean => {
    if (to === from || to < 0 || to >= order.length) return false;
    const next = moveItem(order, from, to);
    setGiven(next);
    mutate(next);
    return true;
  };
  return { order, move };
}

/** The providers of one model in the order in which they are asked; reordered by dragging or arrow keys. */
function ModelChain({ chain }: { readonly chain: Chain }) {
  const t = useTranslations("admin.providers");
  const jobs = useTranslations("jobs");
  const nameOf = useCloudNames();
  const [said, setSaid] = useState("");
  const id = useId();
  const { order, move } = useChainOrder(chain);
  const count = order.length;
  const { list, rowClass, handlersFor } = useReorder(order, (from, to) => {
    if (move(from, to)) setSaid(t("moved", { place: to + 1, count }));
  });
  return (
    <section aria-labelledby={id} className="min-w-0">
      <h3 id={id} className="mb-1.5 text-xs font-medium">
        {chain.title}
        <span className="font-normal text-quiet">{` · ${jobs(`kinds.${chain.kind}`)}`}</span>
      </h3>
      <ol ref={list} aria-labelledby={id} className="divide-y divide-line border-y border-line">
        {order.map((provider, index) => (
          <li key={provider} className={`flex items-center gap-2 ${rowClass(provider, index)}`}>
            <IconButton
              label={t("move", { name: nameOf("providers", provider), place: index + 1, count })}
              keys="ArrowUp ArrowDown"
              {...handlersFor(provider)}
              className="cursor-grab touch-none active:cursor-grabbing"
            >
              <GripVertical aria-hidden />
            </IconButton>
            <span className="text-sm">{nameOf("providers", provider)}</span>
          </li>
        ))}
      </ol>
      <p aria-live="polite" className="sr-only">
        {said}
      </p>
    </section>
  );
}

/** The order of the providers of each model that more than one offers. */
export function ChainList({ chains }: { readonly chains: readonly Chain[] }) {
  const t = useTranslations("admin.providers");
  const several = chains.filter(({ providers }) => providers.length > 1);
  return (
    <Panel title={t("chains")}>
      <p className="mb-4 text-xs text-quiet">{t(several.length === 0 ? "noChains" : "chainsText")}</p>
      <div className="grid gap-x-10 gap-y-6 sm:grid-cols-2 xl:grid-cols-3">
        {several.map((chain) => (
          <ModelChain key={chain.model} chain={chain} />
        ))}
      </div>
    </Panel>
  );
}
