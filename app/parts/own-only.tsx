"use client";
import { CircleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import type { CloudOffer } from "../client/submit/agreement.ts";
import {
  nearCaps,
  type NearCap,
  ownOnly,
  useCloudNames,
  useCloudPolicy,
  useCloudSpend,
  useMayUseCloud,
  useOwnOnly,
} from "../client/cloud.ts";
import { useDollars } from "../ui/hooks.ts";
import { useWorkflowsQuery } from "../client/queries.ts";
import { Checkbox } from "../ui/fields.tsx";

type CloudPlace = Pick<CloudOffer, "provider" | "priceUsd" | "maxPriceUsd">;

/** Where pictures go and what that costs, as a sentence. */
export function usePlaceText(): (place: CloudPlace, count?: number) => string {
  const t = useTranslations("cloud");
  const usd = useDollars();
  const nameOf = useCloudNames();
  return ({ provider: name, priceUsd, maxPriceUsd }, count = 1) => {
    const provider = nameOf("providers", name);
    if (priceUsd === null) return t("placeUnpriced", { provider });
    const price = usd(priceUsd * count);
    return maxPriceUsd === null || maxPriceUsd <= priceUsd
      ? t("place", { provider, price })
      : t("placeUpTo", { provider, price, most: usd(maxPriceUsd * count) });
  };
}

/** One cap that is nearly or wholly spent. */
export function CapNote({ cap }: { readonly cap: NearCap }) {
  const t = useTranslations("cloud");
  const usd = useDollars();
  const { period, spentUsd, capUsd, isReached } = cap;
  return (
    <p className="tabular flex items-start gap-1.5 text-xs text-warn">
      <CircleAlert className="mt-px size-4 shrink-0" aria-hidden />
      <span>
        {t(`${isReached ? "reached" : "near"}.${period}`, { spent: usd(spentUsd), cap: usd(capUsd) })}
      </span>
    </p>
  );
}

/**
 * The switch that keeps the next jobs on the studio's own machines, and warnings of caps that are nearly spent. Hidden while
 * no model of a provider is offered, and from guests, whose jobs never leave.
 */
export function OwnOnlyChoice() {
  const t = useTranslations("cloud");
  const mayUse = useMayUseCloud();
  const policy = useCloudPolicy();
  const spend = useCloudSpend();
  const isOn = useOwnOnly();
  const isOffered = useWorkflowsQuery().data?.items.some(({ cloud }) => cloud !== null) ?? false;
  if (!mayUse || !isOffered || policy === undefined) return null;
  const isFixed = (policy.own ?? policy.studio) === "own_only";
  const caps = isOn || isFixed || spend === undefined ? [] : nearCaps(spend);
  return (
    <div className="flex flex-col gap-2">
      <Checkbox checked={isOn || isFixed} onChange={ownOnly.set} disabled={isFixed}>
        {t(isFixed ? "ownOnlyFixed" : "ownOnly")}
      </Checkbox>
      {caps.map((cap) => (
        <CapNote key={cap.period} cap={cap} />
      ))}
    </div>
  );
}
