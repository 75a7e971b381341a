import type { JobView } from "@atelier/server/jobs";
import { useFormatter, useTranslations } from "next-intl";
import { Facts, type Fact } from "../ui/facts.tsx";
import { useEngineName } from "./use-engine-name.ts";

interface Props {
  readonly job: JobView;
  readonly facts: Readonly<Record<string, unknown>> | null;
}

function rounded(_name: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value) ? Number(value.toFixed(3)) : value;
}

/** Where and how it ran, as a quiet table. */
export function StoryFacts({ job, facts }: Props) {
  const t = useTranslations("story");
  const format = useFormatter();
  const engineName = useEngineName();
  const moment = (iso: string | null) =>
    iso === null ? "–" : format.dateTime(new Date(iso), { dateStyle: "medium", timeStyle: "medium" });
  const rows: readonly Fact[] = [
    [t("facts.engine"), engineName(job.engine)],
    [t("facts.node"), job.node ?? "–"],
    ...(job.server === null ? [] : [[t("facts.server"), job.server] as const]),
    [t("facts.queue"), job.queue],
    [t("facts.attempt"), String(job.attempt)],
    [t("facts.created"), moment(job.createdAt)],
    [t("facts.started"), moment(job.startedAt)],
    [t("facts.ended"), moment(job.endedAt)],
    [t("facts.id"), job.id],
  ];
  return (
    <section aria-labelledby="story-facts">
      <h2 id="story-facts" className="mb-4 text-sm font-medium">
        {t("factsTitle")}
      </h2>
      <Facts rows={rows} />
      {facts === null ? null : (
        <details className="mt-4 text-xs">
          <summary className="text-quiet hover:text-ink">{t("factsOfEngine")}</summary>
          <pre
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
            tabIndex={0}
            className="tabular mt-2 max-h-80 overflow-auto rounded-control bg-well p-3 text-xs"
          >
            {JSON.stringify(facts, rounded, 2)}
          </pre>
        </details>
      )}
    </section>
  );
}
