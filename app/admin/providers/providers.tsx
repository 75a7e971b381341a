"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, CirclePause, Clock } from "lucide-react";
import { useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { useFailureToast } from "../../client/failures.ts";
import { useDollars } from "../../ui/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { formatSpan, Panel, StateChip } from "../parts.tsx";
import { Cell, Row, Table } from "../table.tsx";
import { Chains } from "./chains.tsx";

type Answer = Awaited<ReturnType<typeof api.admin.cloud.providers.query>>;
type Provider = Answer["items"][number];

/** The state of a provider in one word. */
function ProviderState({ provider }: { readonly provider: Provider }) {
  const t = useTranslations("admin.providers");
  if (!provider.isEnabled)
    return (
      <StateChip icon={CirclePause} tone="quiet">
        {t("off")}
      </StateChip>
    );
  if (!provider.hasKey)
    return (
      <StateChip icon={CirclePause} tone="quiet">
        {t("noKey")}
      </StateChip>
    );
  if (provider.cooldownLeftMs > 0)
    return (
      <StateChip icon={Clock} tone="warn">
        {t("cooling", { span: formatSpan(provider.cooldownLeftMs) })}
      </StateChip>
    );
  const isFull = provider.active >= provider.limits.maxConcurrent;
  return (
    <StateChip icon={isFull ? CircleAlert : CircleCheck} tone={isFull ? "warn" : "ok"}>
      {t(isFull ? "full" : "ready")}
    </StateChip>
  );
}

/** Switches a provider on or off; its page data follow at once. */
function Switch({ provider }: { readonly provider: Provider }) {
  const t = useTranslations("admin.providers");
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const { mutate, isPending } = useMutation({
    mutationFn: (isEnabled: boolean) =>
      api.admin.cloud.enable.mutate({ provider: provider.provider, isEnabled }),
    onError: showFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin", "providers"] }),
  });
  return (
    <Button size="small" disabled={isPending} onClick={() => mutate(!provider.isEnabled)}>
      {t(provider.isEnabled ? "switchOff" : "switchOn")}
      <span className="sr-only">{provider.provider}</span>
    </Button>
  );
}

function ProviderTable({ items }: Pick<Answer, "items">) {
  const t = useTranslations("admin.providers");
  const dollars = useDollars();
  const columns = ["provider", "state", "active", "minute", "streak", "today", "month", "action"] as const;
  const known = items.toSorted((a, b) => Number(b.hasKey) - Number(a.hasKey));
  return (
    <Table
      caption={t("caption")}
      columns={columns.map((column) => t(`columns.${column}`))}
      numeric={[2, 3, 5, 6]}
    >
      {known.map((provider) => {
        const { limits, streak, lastErrorClass } = provider;
        return (
          <Row key={provider.provider}>
            <Cell label={t("columns.provider")} isHead>
              <span className="text-sm font-medium">{provider.provider}</span>
            </Cell>
            <Cell label={t("columns.state")}>
              <ProviderState provider={provider} />
            </Cell>
            <Cell label={t("columns.active")} isNumeric>
              {`${provider.active} / ${limits.maxConcurrent}`}
            </Cell>
            <Cell label={t("columns.minute")} isNumeric>
              {`${provider.inLastMinute} / ${limits.rpm}`}
            </Cell>
            <Cell label={t("columns.streak")}>
              {streak === 0 ? t("none") : t("failures", { count: streak, reason: lastErrorClass ?? "" })}
            </Cell>
            <Cell label={t("columns.today")} isNumeric>
              {dollars(provider.dayUsd)}
            </Cell>
            <Cell label={t("columns.month")} isNumeric>
              {dollars(provider.monthUsd)}
            </Cell>
            <Cell label={t("columns.action")}>
              <Switch provider={provider} />
            </Cell>
          </Row>
        );
      })}
    </Table>
  );
}

/** A cap is nearly used up from here on. */
const warnShare = 0.8;

/** What the studio spent against its caps. */
function StudioSpend({ spend, caps }: Pick<Answer, "spend" | "caps">) {
  const t = useTranslations("admin.providers");
  const dollars = useDollars();
  const rows = [
    { key: "day", spent: spend.dayUsd, cap: caps.studioDailyUsd },
    { key: "month", spent: spend.monthUsd, cap: caps.studioMonthlyUsd },
  ] as const;
  return (
    <dl className="grid max-w-[640px] grid-cols-2 gap-6">
      {rows.map(({ key, spent, cap }) => (
        <div key={key}>
          <dt className="text-xs text-quiet">{t(`spend.${key}`)}</dt>
          <dd className="tabular mt-0.5 text-lg">
            {dollars(spent)}
            <span className="text-sm text-quiet">
              {cap === null ? ` ${t("spend.noCap")}` : ` ${t("spend.of", { cap: dollars(cap) })}`}
            </span>
          </dd>
          {cap !== null && spent >= warnShare * cap ? (
            <dd className="text-xs text-warn">{t(spent >= cap ? "spend.reached" : "spend.near")}</dd>
          ) : null}
        </div>
      ))}
    </dl>
  );
}

function SpendTable() {
  const t = useTranslations("admin.providers");
  const dollars = useDollars();
  const query = useLiveQuery(["providers", "spend"], () => api.admin.cloud.spend.query());
  const columns = ["day", "user", "provider", "requests", "usd"] as const;
  return (
    <LiveData query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <p className="text-sm text-quiet">{t("nothingSpent")}</p>
        ) : (
          <Table
            caption={t("spendCaption")}
            columns={columns.map((column) => t(`spendColumns.${column}`))}
            numeric={[3, 4]}
          >
            {items.map((line) => (
              <Row key={`${line.day} ${line.userId} ${line.provider}`}>
                <Cell label={t("spendColumns.day")} isHead>
                  {line.day}
                </Cell>
                <Cell label={t("spendColumns.user")}>{line.userName ?? t("userGone")}</Cell>
                <Cell label={t("spendColumns.provider")}>{line.provider}</Cell>
                <Cell label={t("spendColumns.requests")} isNumeric>
                  {line.requests}
                </Cell>
                <Cell label={t("spendColumns.usd")} isNumeric>
                  {dollars(line.usd)}
                </Cell>
              </Row>
            ))}
          </Table>
        )
      }
    </LiveData>
  );
}

/** The admin's page of image providers: state, spend, and the order in which they are tried. */
export function Providers() {
  const t = useTranslations("admin.providers");
  const query = useLiveQuery(["providers"], () => api.admin.cloud.providers.query());
  return (
    <LiveData query={query}>
      {({ items, chains, spend, caps }) => (
        <div className="flex flex-col gap-10">
          <StudioSpend spend={spend} caps={caps} />
          {items.every(({ hasKey }) => !hasKey) ? (
            <p className="max-w-[64ch] text-sm text-quiet">{t("noKeys")}</p>
          ) : null}
          <ProviderTable items={items} />
          <Panel title={t("chains")} aside={t("chainsHint")}>
            <Chains chains={chains} />
          </Panel>
          <Panel title={t("spendCaption")}>
            <SpendTable />
          </Panel>
        </div>
      )}
    </LiveData>
  );
}
