"use client";
import type { AnyStory } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { Facts } from "../../parts/facts.tsx";
import { Json } from "../../parts/json.tsx";
import { Panel } from "../../parts/panel.tsx";

function shown(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : JSON.stringify(value);
}

/** What was asked for. The pictures themselves stay their owner's. */
export function SettingsPanel({ job: { params, inputs, facts } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const roles = useTranslations("story.roles");
  const pictures = inputs.map(({ role }) => roles(role)).join(", ");
  return (
    <Panel title={t("params")}>
      <Facts
        rows={[
          [t("inputs"), pictures === "" ? t("noInputs") : pictures],
          ...Object.entries(params).map(([name, value]) => [name, shown(value)] as const),
        ]}
      />
      {facts === null ? null : (
        <details className="mt-4 text-xs">
          <summary className="w-fit text-quiet hover:text-ink">{t("engineFacts")}</summary>
          <Json value={facts} />
        </details>
      )}
    </Panel>
  );
}
