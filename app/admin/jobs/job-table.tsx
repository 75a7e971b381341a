"use client";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import type { FoundJob } from "@atelier/server/jobs";
import { useFailureText } from "../../ui/failures.ts";
import { cx } from "../../ui/button.tsx";
import { useSpans, JobStatusChip } from "../parts.tsx";
import { Cell, CompactRow, rowLink, Table, wideOnlyCell } from "../table.tsx";

/** Creation time of an id in ms since 1970: the first 48 bits of a UUID version 7. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}

function JobRow({ job }: { readonly job: FoundJob }) {
  const t = useTranslations("admin.jobs");
  const jobs = useTranslations("jobs");
  const story = useTranslations("admin.story");
  const format = useFormatter();
  const made = new Date(job.createdAt);
  const { span } = useSpans();
  const minute = { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" } as const;
  const servers = [job.node, job.server].filter((name) => name !== null).join(" · ");
  const causeOf = useFailureText();
  const { errorCode } = job;
  const cause = errorCode === null ? null : causeOf({ code: errorCode, message: "" }).title;
  return (
    <CompactRow>
      <Cell label={t("job")} isHead className="max-md:col-span-2 max-md:row-start-1 max-md:truncate">
        <Link
          href={`/admin/jobs/${job.id}`}
          className={cx("font-medium underline-offset-4 hover:underline", rowLink)}
        >
          {jobs(`kinds.${job.kind}`)}
        </Link>
        <span className="whitespace-nowrap text-quiet max-md:ms-2 md:block">{`…${job.id.slice(-8)}`}</span>
      </Cell>
      <Cell label={t("status")} className="max-md:col-start-3 max-md:row-start-1 max-md:justify-self-end">
        <JobStatusChip status={job.status} isCancelling={job.cancelRequested} />
        {cause === null ? null : (
          <span
            className="mt-0.5 block max-w-56 text-quiet max-md:hidden md:max-xl:max-w-36"
            title={errorCode ?? undefined}
          >
            {cause}
          </span>
        )}
      </Cell>
      <Cell label={t("owner")} className="max-w-56 max-md:row-start-2 md:max-xl:max-w-36">
        <Link
          href={`/admin/jobs?owner=${job.owner.id}`}
          className="block truncate underline-offset-4 hover:underline"
        >
          {job.owner.name}
        </Link>
        <span className="block truncate text-quiet max-md:hidden">{job.owner.email ?? ""}</span>
      </Cell>
      <Cell
        label={t("place")}
        className="max-md:row-start-2 max-md:truncate max-md:text-quiet md:min-w-32 xl:min-w-40"
      >
        <span className={cause === null ? undefined : "max-md:hidden"}>{job.queue}</span>
        <span className="wrap-anywhere text-quiet max-md:hidden md:block">{servers}</span>
        {cause === null ? null : (
          <span aria-hidden className="text-fail md:hidden">
            {cause}
          </span>
        )}
      </Cell>
      <Cell label={t("tier")} className={cx(wideOnlyCell, "max-md:hidden")}>
        <span className={job.tier === "normal" ? "text-quiet" : "font-medium"}>{t(`tiers.${job.tier}`)}</span>
      </Cell>
      <Cell label={story("waited")} isNumeric className={cx(wideOnlyCell, "max-md:hidden")}>
        {span(job.waitedMs)}
      </Cell>
      <Cell label={t("took")} isNumeric className="max-md:hidden">
        {job.ranMs === null ? "–" : span(job.ranMs)}
      </Cell>
      <Cell label={t("asked")} isNumeric className="max-md:row-start-2 max-md:text-end max-md:text-quiet">
        <time dateTime={job.createdAt} className="whitespace-nowrap">
          <span className="xl:hidden">{format.dateTime(made, minute)}</span>
          <span className="max-xl:hidden">{format.dateTime(made, { ...minute, second: "2-digit" })}</span>
        </time>
      </Cell>
    </CompactRow>
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
