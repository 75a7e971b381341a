"use client";
import type { AnyStory } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { Json } from "../../parts/json.tsx";
import { Panel } from "../../parts/panel.tsx";

/** Why it failed: the code, the sentence that its owner reads, and what the engine added. */
export function FailurePanel({ job: { error, errorDetails } }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  if (error === null) return null;
  const hasDetails = errorDetails !== null && Object.keys(errorDetails).length > 0;
  return (
    <Panel title={t("failure")}>
      <div className="border-l-2 border-fail pl-4">
        <p className="text-sm font-medium text-fail">{error.code.replaceAll("_", " ")}</p>
        <p className="measure mt-1 text-sm break-words">{error.message}</p>
        {hasDetails ? <Json value={errorDetails} /> : null}
      </div>
    </Panel>
  );
}
