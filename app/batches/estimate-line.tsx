"use client";
import { useTranslations } from "next-intl";
import type { BatchEstimate } from "@atelier/server/batches";
import { Warning } from "../jobs/offer-line.tsx";
import { useTimeText } from "../jobs/waiting-text.ts";
import { useDollars } from "../ui/hooks.ts";

/** When all pictures of a batch would be done, and for how much, or why one of them cannot be made. */
export function BatchEstimateLine({
  answer,
  count,
}: {
  readonly answer: BatchEstimate;
  readonly count: number;
}) {
  const t = useTranslations("create");
  const { lasts } = useTimeText();
  const usd = useDollars();
  const [refused] = answer.refused;
  if (refused) return <Warning>{refused.message}</Warning>;
  if (answer.doneMs === null) return <Warning>{t("batchAway")}</Warning>;
  const price = answer.maxPriceUsd === null ? null : usd(answer.maxPriceUsd);
  return (
    <p className="tabular text-xs text-quiet">
      {t("batchDone", { count, time: lasts(answer.doneMs) })}
      {answer.cloud === null ? null : `. ${price === null ? t("batchUnpriced") : t("batchPrice", { price })}`}
    </p>
  );
}
