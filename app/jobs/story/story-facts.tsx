import type { JobView } from "@atelier/server/jobs";
import { useFormatter, useTranslations } from "next-intl";
import { useEngineName } from "../use-engine-name.ts";

interface Props {
  readonly job: JobView;
  readonly facts: Readonly<Record<string, unknown>> | null;
}

function asText(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toFixed(3);
  return typeof value === "string" || typeof value === "boolean" ? String(value) : JSON.stringify(value);
}

/** Where and how it ran, as a quiet table. */
export function StoryFacts({ job, facts }: Props) {
  const t = useTranslations("story");
  const format = useFormatter();
  const engineName = useEngineName();
  const moment = (iso: string | null) =>
    iso === null ? "–" : format.dateTime(new Date(iso), { dateStyle: "medium", timeStyle: "medium" });
  const rows: readonly (readonly [string, string])[] = [
    [t("facts.engine"), engineName(job.engine)],
    [t("facts.node"), job.node ?? "–"],
    [t("facts.queue"), job.queue],
    [t("facts.attempt"), String(job.attempt)],
    [t("facts.created"), moment(job.createdAt)],
    [t("facts.started"), moment(job.startedAt)],
    [t("facts.ended"), moment(job.endedAt)],
    [t("facts.id"), job.id],
    ...Object.entries(facts ?? {}).map(([name, value]) => [name, asText(value)] as const),
  ];
  return (
    <section aria-labelledby="story-facts">
      <h2 id="story-facts" className="mb-4 text-sm font-medium">
        {t("factsTitle")}
      </h2>
      <dl className="divide-y divide-line border-y border-line">
        {rows.map(([name, value]) => (
          <div key={name} className="flex justify-between gap-6 py-2 text-xs">
            <dt className="shrink-0 text-quiet">{name}</dt>
            <dd className="tabular min-w-0 text-right break-words">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
