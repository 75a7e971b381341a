"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleSlash, Clock } from "lucide-react";
import { useTranslations } from "next-intl";
import { useSyncExternalStore } from "react";
import { api } from "../client/api.ts";
import { type useCapabilities, useCapabilitiesQuery, useMe, useMeFailure } from "../client/queries.ts";
import { applyTheme, currentTheme, themes, watchTheme } from "../client/cookies.ts";
import { AccountLanguage } from "../frame/language.tsx";
import { LoadFailed } from "../parts/page-parts.tsx";
import { ShortcutTable } from "../frame/shortcut-table.tsx";
import { useEngineName } from "../jobs/text.ts";
import { useFailureToast } from "../ui/failures.ts";
import { Checkbox, Segmented } from "../ui/fields.tsx";
import { AccountSection, GuestSection, SpaceSection } from "./account.tsx";
import { ApiKeysSection } from "./api-keys.tsx";
import { CloudSection } from "./cloud.tsx";
import { EmailSection, NoticesSection, WebhooksSection } from "./deliveries.tsx";
import { DataSection } from "./data.tsx";
import { LinksSection } from "./links.tsx";
import { Sections, SettingsSection } from "./section.tsx";
import { TagsSection } from "./tags.tsx";
import { TelegramSection } from "./telegram.tsx";

function StateIcon({ available, waits }: { readonly available: boolean; readonly waits: boolean }) {
  if (!available) return <CircleSlash className="size-4 shrink-0 text-quiet" aria-hidden />;
  if (waits) return <Clock className="size-4 shrink-0 text-warn" aria-hidden />;
  return <CircleCheck className="size-4 shrink-0 text-ok" aria-hidden />;
}

type Item = NonNullable<ReturnType<typeof useCapabilities>>["items"][number];

function EngineRow({ item: { kind, available, engine, reason } }: { readonly item: Item }) {
  const t = useTranslations("settings");
  const jobs = useTranslations("jobs");
  const engineName = useEngineName();
  return (
    <li className="flex gap-3 py-3">
      <span className="mt-0.5">
        <StateIcon available={available} waits={reason !== null} />
      </span>
      <div className="min-w-0 flex-1">
        <p className="flex justify-between gap-4 text-sm font-medium">
          {jobs(`kinds.${kind}`)}
          <span className="shrink-0 text-xs font-normal text-quiet">
            {engine === null ? t("engineMissing") : engineName(engine)}
          </span>
        </p>
        <p className="text-xs text-quiet">{reason ?? t(`engineHints.${kind}`)}</p>
      </div>
    </li>
  );
}

const rowsBefore = ["a", "b", "c", "d", "e"];

function WaitingRow() {
  return (
    <li aria-hidden className="flex h-[66px] flex-col justify-center gap-2">
      <div className="h-3.5 w-40 rounded-control bg-well" />
      <div className="h-3 w-64 max-w-full rounded-control bg-well" />
    </li>
  );
}

/** The kinds of jobs with their engines, and for unavailable kinds what to connect. */
function EnginesSection() {
  const t = useTranslations("settings");
  const { data, error, refetch } = useCapabilitiesQuery();
  return (
    <SettingsSection id="engines" title={t("engines")} text={t("enginesText")}>
      {data === undefined && error !== null ? (
        <LoadFailed error={error} onRetry={() => void refetch()} />
      ) : (
        <ul
          aria-labelledby="engines"
          aria-busy={data === undefined}
          className="max-w-[640px] divide-y divide-line border-y border-line"
        >
          {data?.items.map((item) => <EngineRow key={item.kind} item={item} />) ??
            rowsBefore.map((row) => <WaitingRow key={row} />)}
        </ul>
      )}
    </SettingsSection>
  );
}

function ThemeChoice() {
  const t = useTranslations("settings");
  const theme = useSyncExternalStore(watchTheme, currentTheme, () => "system" as const);
  return (
    <Segmented
      label={t("appearance")}
      value={theme}
      onChange={applyTheme}
      options={themes.map((value) => ({ value, label: t(`themes.${value}`) }))}
    />
  );
}

const describingKey = ["assistant", "describing"];

/** Whether a model of the studio describes the pictures of the user. Hidden in a studio without one. */
function DescriptionsSection() {
  const t = useTranslations("settings.descriptions");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const { data } = useQuery({ queryKey: describingKey, queryFn: () => api.assistant.describing.query() });
  const change = useMutation({
    mutationFn: (isOn: boolean) => api.assistant.setDescribing.mutate({ isOn }),
    onError,
    onSettled: () => queries.invalidateQueries({ queryKey: describingKey }),
  });
  if (!data?.isOffered) return null;
  return (
    <SettingsSection id="descriptions" title={t("title")} text={t("text")}>
      <Checkbox
        checked={change.isPending ? change.variables : data.isOn}
        disabled={change.isPending}
        onChange={(isOn) => change.mutate(isOn)}
      >
        {t("on")}
      </Checkbox>
    </SettingsSection>
  );
}

/** Why there is no user, in place of what is about one. */
function UserMissing() {
  const { error, retry } = useMeFailure();
  return error === null ? null : <LoadFailed error={error} onRetry={retry} />;
}

const column = "min-w-0 divide-y divide-line";

/** Two columns on a wide screen: the person, then what reaches outside. */
export function Settings() {
  const t = useTranslations("settings");
  const me = useMe();
  const isGuest = me === null || me?.isGuest === true;
  const account = me && !me.isGuest ? me : null;
  return (
    <Sections>
      <div className="max-w-[960px] pb-10 max-wide:px-4 max-xl:divide-y max-xl:divide-line sm:max-wide:px-6 xl:grid xl:max-w-[1600px] xl:grid-cols-2 xl:gap-x-16">
        <div className={column}>
          {me === undefined ? <UserMissing /> : null}
          {isGuest ? <GuestSection /> : null}
          {account ? <AccountSection me={account} /> : null}
          {me ? (
            <>
              <SpaceSection />
              <TagsSection />
              <DescriptionsSection />
            </>
          ) : null}
          <SettingsSection id="appearance" title={t("appearance")} text={t("appearanceText")}>
            <ThemeChoice />
          </SettingsSection>
          <SettingsSection id="language" title={t("language")} text={t("languageText")}>
            <AccountLanguage />
          </SettingsSection>
          <NoticesSection />
          {account ? (
            <>
              <CloudSection />
              <TelegramSection />
              <EmailSection />
            </>
          ) : null}
          <SettingsSection
            id="shortcuts"
            title={t("shortcuts")}
            text={t("shortcutsText")}
            className="pointer-coarse:hidden"
          >
            <ShortcutTable />
          </SettingsSection>
        </div>
        <div className={column}>
          {account ? (
            <>
              <LinksSection />
              <ApiKeysSection />
              <WebhooksSection />
            </>
          ) : null}
          <EnginesSection />
          {me ? <DataSection isGuest={me.isGuest} hasPassword={me.hasPassword} /> : null}
        </div>
      </div>
    </Sections>
  );
}
