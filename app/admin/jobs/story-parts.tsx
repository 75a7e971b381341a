"use client";
import type { AnyStory } from "@atelier/server/jobs";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import type { ReactNode } from "react";
import { Facts } from "../../ui/facts.tsx";
import { JobStatusChip } from "../parts/job-status-chip.tsx";
import { Panel } from "../parts/panel.tsx";
import { formatSpan } from "../parts/span.ts";

const link = "underline underline-offset-4";

function spanBetween(from: string | null, to: string | null): string {
  return from === null || to === null ? "–" : formatSpan(Date.parse(to) - Date.parse(from));
}

type Fact = readonly [string, ReactNode];

function usePeople(job: AnyStory): readonly Fact[] {
  const t = useTranslations("admin.story");
  const { owner, retryOf, retries } = job;
  const facts: Fact[] = [
    [
      t("owner"),
      <Link key="owner" href={`/admin/jobs?owner=${owner.id}`} className={link}>
        {owner.email ?? owner.name}
      </Link>,
    ],
  ];
  if (retryOf !== null)
    facts.push([
      t("retryOf"),
      <Link key="of" href={`/admin/jobs/${retryOf}`} className={link}>{`…${retryOf.slice(-12)}`}</Link>,
    ]);
  for (const { id, status } of retries)
    facts.push([
      t("retried"),
      <span key={id} className="inline-flex flex-wrap items-center justify-end gap-2">
        <Link href={`/admin/jobs/${id}`} className={link}>{`…${id.slice(-12)}`}</Link>
        <JobStatusChip status={status} />
      </span>,
    ]);
  return facts;
}

/** Who, where and when. */
export function StoryFactList({ job }: { readonly job: AnyStory }) {
  const t = useTranslations("admin.story");
  const jobs = useTranslations("admin.jobs");
  const story = useTranslations("story.facts");
  const format = useFormatter();
  const moment = (iso: string | null) =>
    iso === null ? "–" : format.dateTime(new Date(iso), { dateStyle: "medium", timeStyle: "medium" });
  const people = usePeople(job);
  const rare: Fact[] = [
    ...(job.avoid.length > 0 ? [[t("avoid"), job.avoid.join(", ")] as const] : []),
    ...(job.externalId === null ? [] : [[t("externalId"), job.externalId] as const]),
    ...(job.notBefore === null ? [] : [[t("notBefore"), moment(job.notBefore)] as const]),
  ];
  return (
    <Panel title={t("facts")}>
      <Facts
        rows={[
          ...people,
          [t("tier"), jobs(`tiers.${job.tier}`)],
          [t("queue"), job.queue],
          [t("need"), job.need],
          [t("node"), job.node ?? "–"],
          [t("server"), job.server ?? "–"],
          [t("tries"), t("charged", { attempt: job.attempt, charged: job.charged })],
          ...rare,
          [story("created"), moment(job.createdAt)],
          [story("started"), moment(job.startedAt)],
          [story("ended"), moment(job.endedAt)],
          [t("waited"), spanBetween(job.createdAt, job.startedAt)],
          [t("ran"), spanBetween(job.startedAt, job.endedAt)],
          [t("retention"), t(`retentions.${job.retention}`)],
          [t("id"), job.id],
        ]}
      />
      {job.runAlone ? <p className="mt-3 text-xs text-quiet">{t("alone")}</p> : null}
    </Panel>
  );
}
