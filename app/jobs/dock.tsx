"use client";
import { ChevronDown, CircleAlert, ListChecks } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { memo, useState } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useLiveJobs, useOpenJobCount } from "../live/hooks.tsx";
import { cx, IconButton, Spinner } from "../ui/button.tsx";
import { UploadRows, useLeaveWarning } from "../uploads/rows.tsx";
import { type Upload, useUploads } from "../uploads/store.ts";
import { JobAction, JobStateLine, JobThumbnail } from "./parts.tsx";
import { jobHref, shownKind, promptsOf } from "./text.ts";

interface Props {
  readonly openCount: number;
  readonly uploads: readonly Upload[];
  readonly onOpen: () => void;
}

function usePillText(openCount: number, uploads: readonly Upload[]): string {
  const t = useTranslations("jobs");
  const failed = uploads.filter((upload) => upload.state === "failed").length;
  if (failed > 0) return t("pill.uploadsFailed", { count: failed });
  if (uploads.length > 0) return t("pill.uploading", { count: uploads.length });
  return openCount > 0 ? t("pill.running", { count: openCount }) : t("pill.idle");
}

function DockPill({ openCount, uploads, onOpen }: Props) {
  const t = useTranslations("jobs");
  const text = usePillText(openCount, uploads);
  const hasFailed = uploads.some((upload) => upload.state === "failed");
  const isBusy = openCount > 0 || uploads.some((upload) => upload.state === "sending");
  return (
    <button
      type="button"
      onClick={onOpen}
      aria-expanded={false}
      aria-label={t("openTray", { state: text })}
      className={cx(
        "fixed right-3 bottom-[calc(68px+env(safe-area-inset-bottom))] z-40 flex h-10 items-center gap-2 rounded-full bg-raised px-4 text-xs font-medium shadow-float transition-colors duration-120 hover:bg-hover max-wide:in-[:root:has(.room)]:top-16 max-wide:in-[:root:has(.room)]:bottom-auto max-wide:in-[:root:has([data-run-bar])]:bottom-[calc(156px+env(safe-area-inset-bottom))] max-wide:in-[:root:has([data-selection-bar])]:bottom-[calc(128px+env(safe-area-inset-bottom))] wide:right-5 wide:bottom-5",
        // On a phone the tab bar counts the jobs, so the pill is needed only for uploads.
        uploads.length === 0 && "max-wide:hidden",
      )}
    >
      {hasFailed ? <CircleAlert className="size-4 text-fail" aria-hidden /> : null}
      {!hasFailed && isBusy ? <Spinner /> : null}
      {!hasFailed && !isBusy ? <ListChecks className="size-4 text-quiet" aria-hidden /> : null}
      {text}
    </button>
  );
}

/** One job of the tray. `memo`: renders again only when this job changes. */
const DockRow = memo(function DockRow({ job }: { readonly job: JobView }) {
  const t = useTranslations("jobs");
  const { prompt } = promptsOf(job.params);
  return (
    <li className="flex items-center gap-3 px-3 py-2">
      <Link href={jobHref(job)} className="flex min-w-0 flex-1 items-center gap-3 rounded-control">
        <JobThumbnail job={job} size="small" />
        <span className="flex min-w-0 flex-1 flex-col gap-0.5">
          <span className="truncate text-xs font-medium">
            {t(`kinds.${shownKind(job)}`)}
            {prompt === "" ? null : <span className="ml-1.5 font-normal text-quiet">{prompt}</span>}
          </span>
          <JobStateLine job={job} />
        </span>
      </Link>
      <JobAction job={job} />
    </li>
  );
});

const rowsShown = 20;

const focusAtOnce = (button: HTMLButtonElement | null) => button?.focus();

/** The tray of jobs and uploads on every page: a pill that opens into a list. */
export function JobsDock() {
  const t = useTranslations("jobs");
  const [isOpen, setOpen] = useState(false);
  const jobs = useLiveJobs();
  const uploads = useUploads();
  useLeaveWarning(uploads);
  const openCount = useOpenJobCount();
  const isEmpty = jobs.length + uploads.length === 0;
  if (isEmpty && !isOpen) return null;
  if (!isOpen) {
    return <DockPill openCount={openCount} uploads={uploads} onOpen={() => setOpen(true)} />;
  }
  return (
    <section
      aria-label={t("tray")}
      className="fixed right-3 bottom-[calc(68px+env(safe-area-inset-bottom))] left-3 z-40 flex max-h-[60dvh] flex-col overflow-hidden rounded-card bg-raised shadow-float sm:left-auto sm:w-[360px] wide:right-5 wide:bottom-5"
    >
      <div className="flex h-12 shrink-0 items-center justify-between border-b border-line pr-1.5 pl-4">
        <h2 className="text-sm font-medium">{t("tray")}</h2>
        <IconButton label={t("collapse")} onClick={() => setOpen(false)} ref={focusAtOnce}>
          <ChevronDown aria-hidden />
        </IconButton>
      </div>
      {isEmpty ? <p className="px-4 py-5 text-xs text-quiet">{t("trayEmpty")}</p> : null}
      <ul className="overflow-y-auto py-1">
        <UploadRows uploads={uploads} />
        {jobs.slice(0, rowsShown).map((job) => (
          <DockRow key={job.id} job={job} />
        ))}
      </ul>
      <Link
        href="/jobs"
        className="border-t border-line px-4 py-3 text-xs font-medium text-quiet hover:text-ink"
      >
        {t("allJobs")}
      </Link>
    </section>
  );
}
