"use client";
import { useTranslations } from "next-intl";
import type { BatchView } from "@atelier/server/batches";
import { useDollars } from "../ui/hooks.ts";

/** The name of a batch, and how far it is. */
export function useBatchTexts() {
  const t = useTranslations("batches");
  const usd = useDollars();
  return {
    name: ({ title, size }: Pick<BatchView, "title" | "size">) => title ?? t("untitled", { count: size }),
    state: ({ counts, size }: Pick<BatchView, "counts" | "size">) =>
      [
        t("done", { done: counts.completed, size }),
        ...(["running", "waiting", "failed", "cancelled", "removed"] as const)
          .filter((name) => counts[name] > 0)
          .map((name) => t(`counts.${name}`, { count: counts[name] })),
      ].join(" · "),
    price: ({ maxPriceUsd }: Pick<BatchView, "maxPriceUsd">) => {
      if (maxPriceUsd === null) return t("priceUnknown");
      return maxPriceUsd === 0 ? t("free") : t("price", { price: usd(maxPriceUsd) });
    },
  };
}
