"use client";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { api } from "../../client/api.ts";
import { nearCaps, useCloudNames } from "../../client/cloud.ts";
import { useDollars } from "../../ui/hooks.ts";
import { CapNote } from "../../parts/own-only.tsx";
import { Facts } from "../../ui/facts.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { Panel } from "../parts.tsx";
import { Cell, Row, Table } from "../table.tsx";

type CloudReport = Awaited<ReturnType<typeof api.admin.cloud.providers.query>>;
type Line = Awaited<ReturnType<typeof api.admin.cloud.spend.query>>["items"][number];

/** What one user spent at one provider on one day. */
function SpendRow({ line }: { readonly line: Line }) {
  const t = useTranslations("admin.providers");
  const format = useFormatter();
  const usd = useDollars();
  const nameOf = useCloudNames();
  const { day, userId, userName, provider, requests } = line;
  return (
    <Row>
      <Cell label={t("day")} isHead>
        {format.dateTime(new Date(`${day}T00:00:00Z`), { dateStyle: "medium", timeZone: "UTC" })}
      </Cell>
      <Cell label={t("user")}>
        {userName === null ? (
          <span className="text-quiet">{t("gone")}</span>
        ) : (
          <Link href={`/admin/users/${userId}`} className="underline-offset-4 hover:underline">
            {userName}
          </Link>
        )}
      </Cell>
      <Cell label={t("provider")}>{nameOf("providers", provider)}</Cell>
      <Cell label={t("requests")} isNumeric>
        {format.number(requests)}
      </Cell>
      <Cell label={t("usd")} isNumeric>
        {usd(line.usd)}
      </Cell>
    </Row>
  );
}

/** Sums of days change slowly, and the sum over all attempts is not for every two seconds. */
const refetchMs = 30_000;

/** The spend by day, user and provider, newest first. */
export function SpendTable() {
  const t = useTranslations("admin.providers");
  const query = useLiveQuery(["provider-spend"], () => api.admin.cloud.spend.query(), refetchMs);
  return (
    <Panel title={t("spend")} aside={t("spendText")}>
      <LiveData query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-xs text-quiet">{t("noSpend")}</p>
          ) : (
            <Table
              caption={t("spend")}
              columns={[t("day"), t("user"), t("provider"), t("requests"), t("usd")]}
              numeric={[3, 4]}
            >
              {items.map((line) => (
                <SpendRow key={`${line.day} ${line.userId} ${line.provider}`} line={line} />
              ))}
            </Table>
          )
        }
      </LiveData>
    </Panel>
  );
}

/** The spend of the studio beside its caps, with a warning from 80 % on. */
export function StudioCaps({ spend, caps }: Pick<CloudReport, "spend" | "caps">) {
  const t = useTranslations("admin.providers");
  const cloud = useTranslations("cloud");
  const usd = useDollars();
  const of = (spent: number, cap: number | null) =>
    cap === null
      ? cloud("noCap", { spent: usd(spent) })
      : cloud("ofCap", { spent: usd(spent), cap: usd(cap) });
  const limit = (cap: number | null) => (cap === null ? t("unlimited") : usd(cap));
  const { dayUsd, monthUsd } = spend;
  const { studioDailyUsd: dailyUsd, studioMonthlyUsd: monthlyUsd } = caps;
  return (
    <Panel title={t("caps")}>
      <div className="flex max-w-[480px] flex-col gap-3">
        {nearCaps({ dayUsd, monthUsd, dailyUsd, monthlyUsd }).map((cap) => (
          <CapNote key={cap.period} cap={cap} />
        ))}
        <Facts
          rows={[
            [t("studioDay"), of(dayUsd, dailyUsd)],
            [t("studioMonth"), of(monthUsd, monthlyUsd)],
          ]}
        />
        <p className="text-xs text-quiet">
          {t("perUser", { day: limit(caps.userDailyUsd), month: limit(caps.userMonthlyUsd) })}
        </p>
        <p className="text-xs text-quiet">{t("capsText")}</p>
      </div>
    </Panel>
  );
}
