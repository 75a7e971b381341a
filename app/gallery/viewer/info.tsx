"use client";
import type { ImageView } from "@atelier/server/images";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { DowngradeNote } from "../../jobs/downgrade-note.tsx";
import { JobParams } from "../../jobs/params/job-params.tsx";
import { useEngineName } from "../../jobs/use-engine-name.ts";
import { Facts, type Fact } from "../../ui/facts.tsx";
import { TitleField } from "./title-field.tsx";
import { useSourceImage } from "./use-source-image.ts";
import { shownKind } from "../../jobs/shown-kind.ts";

function useRows(image: ImageView) {
  const t = useTranslations("viewer");
  const jobs = useTranslations("jobs");
  const format = useFormatter();
  const engineName = useEngineName();
  const { job } = useSourceImage(image);
  const moment = (iso: string) => format.dateTime(new Date(iso), { dateStyle: "medium", timeStyle: "short" });
  const rows: Fact[] = [
    [t("facts.size"), t("facts.pixels", { width: image.widthPx, height: image.heightPx })],
    [
      t("facts.file"),
      `${image.mime.replace("image/", "").toUpperCase()}, ${format.number(image.sizeBytes / 1_048_576, { maximumFractionDigits: 1 })} MB`,
    ],
    [t(image.kind === null ? "facts.added" : "facts.made"), moment(image.createdAt)],
  ];
  if (job === undefined) return rows;
  rows.push([t("facts.kind"), jobs(`kinds.${shownKind(job)}`)], [t("facts.engine"), engineName(job.engine)]);
  if (job.node !== null) rows.push([t("facts.node"), job.node]);
  if (job.server !== null) rows.push([t("facts.server"), job.server]);
  if (job.startedAt !== null && job.endedAt !== null) {
    const seconds = (Date.parse(job.endedAt) - Date.parse(job.startedAt)) / 1_000;
    rows.push([t("facts.time"), `${seconds.toFixed(1)} s`]);
  }
  return rows;
}

/** What is known about a picture and how it came to be. */
export function ViewerInfo({ image }: { readonly image: ImageView }) {
  const t = useTranslations("viewer");
  const rows = useRows(image);
  const { job } = useSourceImage(image);
  return (
    <aside
      aria-label={t("info")}
      className="max-h-[45dvh] w-full shrink-0 overflow-y-auto border-line p-5 max-wide:border-t wide:max-h-none wide:w-[300px] wide:border-l"
    >
      <TitleField image={image} />
      <div className="mt-5">
        <Facts rows={rows} />
      </div>
      {job === undefined ? null : (
        <div className="mt-3 flex flex-col">
          <DowngradeNote job={job} />
          <JobParams job={job} />
        </div>
      )}
      {image.jobId === null ? null : (
        <Link
          href={`/jobs/${image.jobId}`}
          className="mt-4 inline-block text-xs underline underline-offset-4"
        >
          {t("story")}
        </Link>
      )}
    </aside>
  );
}
