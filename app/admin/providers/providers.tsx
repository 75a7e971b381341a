"use client";
import { CircleCheck, CirclePause, CircleSlash, Clock, KeyRound, type LucideIcon } from "lucide-react";
import { useTranslations } from "next-intl";
import { api } from "../../client/api.ts";
import { useCloudNames } from "../../client/cloud.ts";
import { useDollars } from "../../ui/hooks.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton, useAdminAction } from "../controls.tsx";
import { LiveData, useLiveQuery } from "../live.tsx";
import { useSpans, StateChip, type Tone } from "../parts.tsx";
import { Cell, Row, Table } from "../table.tsx";
import { ChainList } from "./chains.tsx";
import { SpendTable, StudioCaps } from "./spend.tsx";

type CloudReport = Awaited<ReturnType<typeof api.admin.cloud.providers.query>>;
type Provider = CloudReport["items"][number];

type State = "ready" | "off" | "noKey" | "cooling" | "full";

/** The limits of all keys of a provider together; a key that rests adds nothing. */
function limitsOf({ limits: { maxConcurrent, rpm }, keys, keyReports }: Provider) {
  const resting = keyReports.filter(({ cooldownLeftMs }) => cooldownLeftMs > 0).length;
  const working = Math.max(1, keys - resting);
  return { maxConcurrent: maxConcurrent * working, rpm: rpm * working };
}

/** Where a provider has several keys: each that failed last, by the start of its hash. */
function KeyList({ provider: { keyReports } }: { readonly provider: Provider }) {
  const { span } = useSpans();
  const t = useTranslations("admin.providers");
  const nameOf = useCloudNames();
  const failing = keyReports.filter(({ streak }) => streak > 0);
  if (keyReports.length < 2 || failing.length === 0) return null;
  return (
    <ul className="text-xs text-quiet">
      {failing.map(({ keyId, streak, lastErrorClass, cooldownLeftMs }) => (
        <li key={keyId}>
          {t("key", {
            key: keyId.slice(0, 6),
            count: streak,
            reason: nameOf("reasons", lastErrorClass ?? "internal"),
            span: span(cooldownLeftMs),
          })}
        </li>
      ))}
    </ul>
  );
}

/** What a provider can do for the next job. */
export function stateOf(provider: Provider): State {
  const { isEnabled, hasKey, cooldownLeftMs, active, inLastMinute } = provider;
  const { maxConcurrent, rpm } = limitsOf(provider);
  if (!isEnabled) return "off";
  if (!hasKey) return "noKey";
  if (cooldownLeftMs > 0) return "cooling";
  return active >= maxConcurrent || inLastMinute >= rpm ? "full" : "ready";
}

const looks: Record<State, readonly [LucideIcon, Tone]> = {
  ready: [CircleCheck, "ok"],
  off: [CirclePause, "quiet"],
  noKey: [KeyRound, "quiet"],
  cooling: [Clock, "warn"],
  full: [CircleSlash, "warn"],
};

/** Switches a provider on, or off after a question. */
function SwitchButton({ provider: { provider, isEnabled } }: { readonly provider: Provider }) {
  const t = useTranslations("admin.providers");
  const nameOf = useCloudNames();
  const name = nameOf("providers", provider);
  const { mutate, isPending } = useAdminAction(() =>
    api.admin.cloud.enable.mutate({ provider, isEnabled: !isEnabled }),
  );
  if (!isEnabled)
    return (
      <Button
        size="small"
        aria-label={t("enableNamed", { name })}
        disabled={isPending}
        onClick={() => mutate()}
      >
        {t("enable")}
      </Button>
    );
  return (
    <ConfirmButton
      label={t("disableNamed", { name })}
      question={t("disableAsk")}
      confirm={t("disableYes")}
      isPending={isPending}
      onConfirm={() => mutate()}
    >
      {t("disable")}
    </ConfirmButton>
  );
}

/** One provider: its state, its load against its limits, its errors and its spend. */
function ProviderRow({ provider }: { readonly provider: Provider }) {
  const { span } = useSpans();
  const t = useTranslations("admin.providers");
  const usd = useDollars();
  const nameOf = useCloudNames();
  const { active, inLastMinute, cooldownLeftMs, streak, lastErrorClass } = provider;
  const { maxConcurrent, rpm } = limitsOf(provider);
  const state = stateOf(provider);
  const [icon, tone] = looks[state];
  const errors =
    lastErrorClass === null
      ? String(streak)
      : t("lastError", { count: streak, reason: nameOf("reasons", lastErrorClass) });
  return (
    <Row>
      <Cell label={t("provider")} isHead>
        <span className="font-medium">{nameOf("providers", provider.provider)}</span>
      </Cell>
      <Cell label={t("state")}>
        <StateChip icon={icon} tone={tone}>
          {t(`states.${state}`)}
        </StateChip>
      </Cell>
      <Cell label={t("active")} isNumeric>
        {t("limit", { value: active, limit: maxConcurrent })}
      </Cell>
      <Cell label={t("lastMinute")} isNumeric>
        {t("limit", { value: inLastMinute, limit: rpm })}
      </Cell>
      <Cell label={t("cooldown")} isNumeric>
        {cooldownLeftMs > 0 ? t("cooldownLeft", { span: span(cooldownLeftMs) }) : "–"}
      </Cell>
      <Cell label={t("streak")}>
        {streak === 0 ? "–" : errors}
        <KeyList provider={provider} />
      </Cell>
      <Cell label={t("today")} isNumeric>
        {usd(provider.dayUsd)}
      </Cell>
      <Cell label={t("month")} isNumeric>
        {usd(provider.monthUsd)}
      </Cell>
      <Cell label={t("switch")}>
        <SwitchButton provider={provider} />
      </Cell>
    </Row>
  );
}

function ProviderTable({ items }: Pick<CloudReport, "items">) {
  const t = useTranslations("admin.providers");
  return (
    <Table
      caption={t("caption")}
      columns={[
        t("provider"),
        t("state"),
        t("active"),
        t("lastMinute"),
        t("cooldown"),
        t("streak"),
        t("today"),
        t("month"),
        t("switch"),
      ]}
      numeric={[2, 3, 4, 6, 7]}
    >
      {items.map((provider) => (
        <ProviderRow key={provider.provider} provider={provider} />
      ))}
    </Table>
  );
}

/** The image providers: state, order, and money. */
export function ProviderOverview() {
  const t = useTranslations("admin.providers");
  const query = useLiveQuery(["providers"], () => api.admin.cloud.providers.query());
  return (
    <LiveData query={query}>
      {({ items, chains, spend, caps }) => (
        <div className="flex flex-col gap-10">
          {items.some(({ hasKey }) => hasKey) ? null : (
            <div role="note" className="rounded-card border border-line bg-well p-4">
              <p className="text-sm font-medium">{t("setup")}</p>
              <p className="measure mt-1 text-sm text-quiet">{t("setupText")}</p>
            </div>
          )}
          <ProviderTable items={items} />
          <StudioCaps spend={spend} caps={caps} />
          <ChainList chains={chains} />
          <SpendTable />
        </div>
      )}
    </LiveData>
  );
}
