"use client";
import { useQuery } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { keys } from "../../data/keys.ts";
import { SettingsSection } from "../section.tsx";

const bytesPerMb = 1_048_576;

/** How much space the pictures take up, and how much they may. */
export function SpaceSection() {
  const t = useTranslations("settings");
  const format = useFormatter();
  const { data } = useQuery({ queryKey: keys.usage, queryFn: () => api.account.usage.query() });
  const inMb = (bytes: number) => format.number(bytes / bytesPerMb, { maximumFractionDigits: 0 });
  return (
    <SettingsSection id="space" title={t("space")} text={t("spaceText")}>
      {data === undefined ? (
        <div className="h-10" aria-busy />
      ) : (
        <div className="flex max-w-[420px] flex-col gap-2">
          <p className="tabular text-sm">
            {t("spaceUsed", { used: inMb(data.usedBytes), limit: inMb(data.limitBytes) })}
          </p>
          <progress
            className="h-1.5 w-full"
            aria-labelledby="space"
            max={data.limitBytes}
            value={Math.min(data.usedBytes, data.limitBytes)}
          />
        </div>
      )}
    </SettingsSection>
  );
}
