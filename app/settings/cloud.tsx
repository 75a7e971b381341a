"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { api } from "../client/api.ts";
import { useFailureToast } from "../client/failures.ts";
import { useAllWorkflows } from "../client/queries.ts";
import { useDollars } from "../ui/hooks.ts";
import { Select } from "../ui/select.tsx";
import { SettingsSection } from "./section.tsx";

const policies = ["studio", "own_first", "fastest", "cheapest", "own_only"] as const;
type Choice = (typeof policies)[number];

/** When the user's pictures may go to a provider. */
function PolicyChoice() {
  const t = useTranslations("settings.cloud");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const { data } = useQuery({ queryKey: ["cloud", "policy"], queryFn: () => api.cloud.policy.query() });
  const { mutate } = useMutation({
    mutationFn: (choice: Choice) =>
      api.cloud.setPolicy.mutate({ policy: choice === "studio" ? null : choice }),
    onError: showFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: ["cloud"] }),
  });
  if (data === undefined) return <div className="h-10" aria-busy />;
  return (
    <div className="max-w-[360px]">
      <Select
        label={t("policy")}
        value={data.own ?? "studio"}
        onChange={(next) => mutate(next as Choice)}
        options={policies.map((value) => ({
          value,
          title: t(`policies.${value}`),
          description: value === "studio" ? t(`policies.${data.studio}`) : "",
        }))}
      />
    </div>
  );
}

const warnShare = 0.8;

/** What the user spent against the caps. */
function OwnSpend() {
  const t = useTranslations("settings.cloud");
  const dollars = useDollars();
  const { data } = useQuery({ queryKey: ["cloud", "spend"], queryFn: () => api.cloud.spend.query() });
  if (data === undefined) return <div className="h-12" aria-busy />;
  const rows = [
    { key: "day", spent: data.dayUsd, cap: data.dailyUsd },
    { key: "month", spent: data.monthUsd, cap: data.monthlyUsd },
  ] as const;
  return (
    <dl className="grid max-w-[480px] grid-cols-2 gap-6">
      {rows.map(({ key, spent, cap }) => (
        <div key={key}>
          <dt className="text-xs text-quiet">{t(key)}</dt>
          <dd className="tabular mt-0.5 text-sm">
            {dollars(spent)}
            <span className="text-quiet">{` ${cap === null ? t("noCap") : t("of", { cap: dollars(cap) })}`}</span>
          </dd>
          {cap !== null && spent >= warnShare * cap ? (
            <dd className="text-xs text-warn">{t(spent >= cap ? "reached" : "near")}</dd>
          ) : null}
        </div>
      ))}
    </dl>
  );
}

/** Use of image providers; hidden in a studio without the key of any. */
export function CloudSection() {
  const t = useTranslations("settings.cloud");
  const hasModels = useAllWorkflows()?.some(({ cloud }) => cloud !== null) ?? false;
  if (!hasModels) return null;
  return (
    <SettingsSection id="cloud" title={t("title")} text={t("text")}>
      <div className="flex flex-col gap-6">
        <PolicyChoice />
        <OwnSpend />
      </div>
    </SettingsSection>
  );
}
