"use client";
import { CircleCheck, CircleSlash, Clock } from "lucide-react";
import { useTranslations } from "next-intl";
import { type useCapabilities, useCapabilitiesQuery } from "../../client/queries.ts";
import { LoadFailed } from "../../frame/load-failed.tsx";
import { useEngineName } from "../../jobs/use-engine-name.ts";
import { SettingsSection } from "../section.tsx";

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

/** What can be asked of this studio, by which engine, and what to connect for the rest. */
export function EnginesSection() {
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
