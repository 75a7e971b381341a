"use client";
import type { AnyStory } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { Facts } from "../../../ui/facts.tsx";
import { Json } from "../../parts/json.tsx";
import { Panel } from "../../parts/panel.tsx";

function shown(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : JSON.stringify(value);
}

/** A sentence rather than a value. */
const isLong = (value: unknown) => typeof value === "string" && value.length > 40;

/** What was asked for. The pictures themselves stay their owner's. */
export function SettingsPanel({ job: { params, inputs, facts } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const roles = useTranslations("story.roles");
  const words = Object.entries(params).filter(([, value]) => isLong(value));
  const rest = Object.entries(params).filter(([, value]) => !isLong(value));
  const pictures = inputs.map(({ role }) => roles(role)).join(", ");
  return (
    <Panel title={t("params")}>
      {words.map(([name, value]) => (
        <div key={name} className="mb-3 text-xs">
          <p className="text-quiet">{name}</p>
          <p className="measure mt-0.5 text-sm break-words">{shown(value)}</p>
        </div>
      ))}
      <Facts
        rows={[
          [t("inputs"), pictures === "" ? t("noInputs") : pictures],
          ...rest.map(([name, value]) => [name, shown(value)] as const),
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
