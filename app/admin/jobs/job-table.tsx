"use client";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import type { FoundJob } from "@atelier/server/jobs";
import { cx } from "../../ui/button.tsx";
import { formatSpan, JobStatusChip } from "../parts.tsx";
import { Cell, wideOnlyCell, Row, Table } from "../table.tsx";

/** Creation time of an id in ms since 1970: the first 48 bits of a UUID version 7. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}

function JobRow({ job }: { readonly job: FoundJob }) {
  const t = useTranslations("admin.jobs");
  const jobs = useTranslations("jobs");
  const story = useTranslations("admin.story");
  const format = useFormatter();
  const made = format.dateTime(new Date(job.createdAt), {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  return (
    <Row>
      <Cell label={t("job")} isHead>
        <Link href={`/admin/jobs/${job.id}`} className="font-medium underline-offset-4 hover:underline">
          {jobs(`kinds.${job.kind}`)}
        </Link>
        <span className="block whitespace-nowrap text-quiet">{`…${job.id.slice(-8)}`}</span>
      </Cell>
      <Cell label={t("status")}>
        <JobStatusChip status={job.status} isCancelling={job.cancelRequested} />
        {job.errorCode === null ? null : (
          <span className="mt-0.5 block text-quiet">{job.errorCode.replaceAll("_", " ")}</span>
        )}
      </Cell>
      <Cell label={t("owner")} className="max-w-56 md:max-xl:max-w-44">
        <Link
          href={`/admin/jobs?owner=${job.owner.id}`}
          className="block truncate underline-offset-4 hover:underline"
        >
          {job.owner.name}
        </Link>
        <span className="block truncate text-quiet">{job.owner.email ?? ""}</span>
      </Cell>
      <Cell label={t("place")} className="md:min-w-40">
        {job.queue}
        <span className="block wrap-anywhere text-quiet">
          {[job.node, job.server].filter((name) => name !== null).join(" · ")}
        </span>
      </Cell>
      <Cell label={t("tier")} className={cx(wideOnlyCell, job.tier === "normal" && "max-md:hidden")}>
        <span className={job.tier === "normal" ? "text-quiet" : "font-medium"}>{t(`tiers.${job.tier}`)}</span>
      </Cell>
      <Cell label={story("waited")} isNumeric className={wideOnlyCell}>
        {formatSpan(job.waitedMs)}
      </Cell>
      <Cell label={t("took")} isNumeric>
        {job.ranMs === null ? "–" : formatSpan(job.ranMs)}
      </Cell>
      <Cell label={t("asked")} isNumeric>
        <time dateTime={job.createdAt} className="whitespace-nowrap">
          {made}
        </time>
      </Cell>
    </Row>
  );
}

export function JobTable({ jobs }: { readonly jobs: readonly FoundJob[] }) {
  const t = useTranslations("admin.jobs");
  const story = useTranslations("admin.story");
  return (
    <Table
      caption={t("caption")}
      columns={[
        t("job"),
        t("status"),
        t("owner"),
        t("place"),
        t("tier"),
        story("waited"),
        t("took"),
        t("asked"),
      ]}
      numeric={[5, 6, 7]}
      wideOnly={[4, 5]}
    >
      {jobs.map((job) => (
        <JobRow key={job.id} job={job} />
      ))}
    </Table>
  );
}
