"use client";
import { useTranslations } from "next-intl";
import { nearCaps, useCloudPolicy, useCloudSpend, useSetCloudPolicy } from "../client/cloud.ts";
import { useDollars } from "../ui/hooks.ts";
import { useAllWorkflows } from "../client/queries.ts";
import { CapNote } from "../parts/own-only.tsx";
import { Progress } from "../ui/progress.tsx";
import { Select } from "../ui/select.tsx";
import { SettingsSection } from "./section.tsx";

const policies = ["own_first", "fastest", "cheapest", "own_only"] as const;
const studioChoice = "studio";

type Policy = NonNullable<ReturnType<typeof useCloudPolicy>>;

/** When providers are used: as the studio decides, or the user's own rule. */
function PolicyChoice({ policy: { own, studio } }: { readonly policy: Policy }) {
  const t = useTranslations("cloud");
  const { mutate, isPending } = useSetCloudPolicy();
  const ofStudio = {
    value: studioChoice,
    title: t("studioDefault", { policy: t(`policies.${studio}`) }),
    description: t(`policyHints.${studio}`),
  };
  const others = policies.map((value) => ({
    value,
    title: t(`policies.${value}`),
    description: t(`policyHints.${value}`),
  }));
  return (
    <div aria-busy={isPending} className="max-w-[420px]">
      <Select
        label={t("policy")}
        value={own ?? studioChoice}
        onChange={(next) => mutate(policies.find((known) => known === next) ?? null)}
        options={[ofStudio, ...others]}
      />
    </div>
  );
}

interface SpentProps {
  readonly period: string;
  readonly spentUsd: number;
  readonly capUsd: number | null;
}

/** The spend of a period beside its cap. */
function Spent({ period, spentUsd, capUsd }: SpentProps) {
  const t = useTranslations("cloud");
  const usd = useDollars();
  const spent = usd(spentUsd);
  return (
    <div className="flex max-w-[420px] flex-col gap-1.5">
      <p className="tabular flex justify-between gap-4 text-xs">
        <span className="font-medium">{period}</span>
        <span className="text-quiet">
          {capUsd === null ? t("noCap", { spent }) : t("ofCap", { spent, cap: usd(capUsd) })}
        </span>
      </p>
      {capUsd === null ? null : (
        <Progress
          value={capUsd === 0 ? 1 : Math.min(1, spentUsd / capUsd)}
          label={t("spendLabel", { period })}
        />
      )}
    </div>
  );
}

/** The rule for cloud models, and what they cost so far. Hidden in a studio without the key of any provider. */
export function CloudSection() {
  const t = useTranslations("cloud");
  const policy = useCloudPolicy();
  const spend = useCloudSpend();
  const isOffered = useAllWorkflows()?.some(({ cloud }) => cloud !== null) ?? false;
  if (!isOffered) return null;
  return (
    <SettingsSection id="cloud" title={t("settings")} text={t("settingsText")}>
      <div className="flex flex-col gap-5">
        {policy === undefined ? null : <PolicyChoice policy={policy} />}
        {spend === undefined ? null : (
          <>
            <Spent period={t("spentDay")} spentUsd={spend.dayUsd} capUsd={spend.dailyUsd} />
            <Spent period={t("spentMonth")} spentUsd={spend.monthUsd} capUsd={spend.monthlyUsd} />
            {nearCaps(spend).map((cap) => (
              <CapNote key={cap.period} cap={cap} />
            ))}
          </>
        )}
      </div>
    </SettingsSection>
  );
}
