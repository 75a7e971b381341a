"use client";
import { ChevronDown } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useState } from "react";
import { hasEnded } from "../live/live-state.ts";
import { useLiveJobs } from "../live/use-live-jobs.ts";
import { IconButton } from "../ui/icon-button.tsx";
import { useUploads } from "../uploads/use-uploads.ts";
import { DockPill } from "./dock/dock-pill.tsx";
import { DockRow } from "./dock/dock-row.tsx";
import { UploadRow } from "./dock/upload-row.tsx";

const rowsShown = 20;

const focusAtOnce = (button: HTMLButtonElement | null) => button?.focus();

/** The tray of jobs and uploads on every page: a pill that opens into a list. */
export function JobsDock() {
  const t = useTranslations("jobs");
  const [isOpen, setOpen] = useState(false);
  const jobs = useLiveJobs();
  const uploads = useUploads();
  const isEmpty = jobs.length + uploads.length === 0;
  if (isEmpty && !isOpen) return null;
  const openCount = jobs.filter((job) => !hasEnded(job)).length;
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
        {uploads.map((upload) => (
          <UploadRow key={upload.id} upload={upload} />
        ))}
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
