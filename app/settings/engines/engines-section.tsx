"use client";
import { CircleCheck, CircleSlash, Clock } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCapabilities } from "../../data/use-capabilities.ts";
import { useEngineName } from "../../jobs/use-engine-name.ts";
import { SettingsSection } from "../settings-section.tsx";

function StateIcon({ available, waits }: { readonly available: boolean; readonly waits: boolean }) {
  if (!available) return <CircleSlash className="size-4 shrink-0 text-quiet" aria-hidden />;
  if (waits) return <Clock className="size-4 shrink-0 text-warn" aria-hidden />;
  return <CircleCheck className="size-4 shrink-0 text-ok" aria-hidden />;
}

/** What can be asked of this studio, by which engine, and what to connect for the rest. */
export function EnginesSection() {
  const t = useTranslations("settings");
  const jobs = useTranslations("jobs");
  const engineName = useEngineName();
  const items = useCapabilities()?.items ?? [];
  return (
    <SettingsSection id="engines" title={t("engines")} text={t("enginesText")}>
      <ul aria-labelledby="engines" className="max-w-[640px] divide-y divide-line border-y border-line">
        {items.map(({ kind, available, engine, reason }) => (
          <li key={kind} className="flex gap-3 py-3">
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
        ))}
      </ul>
    </SettingsSection>
  );
}
