"use client";
import { ChevronDown, CircleAlert, ListChecks } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { memo, useEffect, useRef } from "react";
import type { JobView } from "@atelier/server/jobs";
import { useLiveJobs } from "../live/hooks.tsx";
import { hasEnded } from "../live/store.ts";
import { IconButton, Spinner } from "../ui/button.tsx";
import { UploadRows } from "../uploads/rows.tsx";
import { type Upload, useUploads } from "../uploads/store.ts";
import { JobAction, JobStateLine, JobThumbnail } from "./row.tsx";
import { jobHref } from "./text.ts";
import { promptsOf } from "./params.ts";
import { shownKind } from "../client/kinds.ts";

/** One job of the tray. `memo`: renders again only when this job changes. */
const TrayRow = memo(function TrayRow({ job }: { readonly job: JobView }) {
  const t = useTranslations("jobs");
  const { prompt } = promptsOf(job.params);
  return (
    <li className="flex items-center gap-3 px-3 py-2">
      <Link href={jobHref(job)} className="flex min-w-0 flex-1 items-center gap-3 rounded-control">
        <JobThumbnail job={job} size="small" />
        <span className="flex min-w-0 flex-1 flex-col gap-0.5">
          <span className="truncate text-xs font-medium">
            {t(`kinds.${shownKind(job)}`)}
            {prompt === "" ? null : <span className="ms-1.5 font-normal text-quiet">{prompt}</span>}
          </span>
          <JobStateLine job={job} />
        </span>
      </Link>
      <JobAction job={job} />
    </li>
  );
});

const rowsShown = 20;

/** Unless the focus went on to something else while the tray was loaded. */
function focusAtOnce(button: HTMLButtonElement | null): void {
  const focused = document.activeElement;
  if (focused === document.body || focused?.matches("[aria-expanded=true]") === true) button?.focus();
}

/** Gives the focus back to what had it before. */
function useReturnedFocus(): void {
  const before = useRef<Element | null>(null);
  before.current ??= document.activeElement;
  useEffect(
    () => () => {
      if (before.current instanceof HTMLElement) before.current.focus();
    },
    [],
  );
}

/** Jobs and uploads, with what can be done with each. */
export function Tray({ onClose }: { readonly onClose: () => void }) {
  const t = useTranslations("jobs");
  const jobs = useLiveJobs();
  const uploads = useUploads();
  useReturnedFocus();
  const tray = useRef<HTMLElement>(null);
  useEffect(() => {
    const press = ({ key, target }: KeyboardEvent) => {
      if (key === "Escape" && target instanceof Node && tray.current?.contains(target)) onClose();
    };
    // In the capture phase: the tooltip of the focused button would take the first Esc.
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, [onClose]);
  return (
    <section
      aria-label={t("tray")}
      ref={tray}
      className="fixed inset-e-3 bottom-[calc(var(--tabs)+12px)] inset-s-3 z-40 flex max-h-[60dvh] flex-col overflow-hidden rounded-card bg-raised shadow-float sm:inset-s-auto sm:w-[360px] wide:inset-e-auto wide:inset-s-[208px]"
    >
      <div className="flex h-12 shrink-0 items-center justify-between border-b border-line pe-1.5 ps-4">
        <h2 className="text-sm font-medium">{t("tray")}</h2>
        <IconButton label={t("collapse")} onClick={onClose} ref={focusAtOnce}>
          <ChevronDown aria-hidden />
        </IconButton>
      </div>
      {jobs.length + uploads.length === 0 ? (
        <p className="px-4 py-5 text-xs text-quiet">{t("trayEmpty")}</p>
      ) : null}
      <ul className="overflow-y-auto py-1">
        <UploadRows uploads={uploads} />
        {jobs.slice(0, rowsShown).map((job) => (
          <TrayRow key={job.id} job={job} />
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

interface Counts {
  readonly running: number;
  readonly waiting: number;
}

/** Of the live jobs, those that a worker has and those that still wait for one. */
export function countOpen(jobs: readonly JobView[]): Counts {
  const open = jobs.filter((job) => !hasEnded(job));
  const waiting = open.filter(({ status }) => status === "pending" || status === "queued").length;
  return { running: open.length - waiting, waiting };
}

function usePillText({ running, waiting }: Counts, uploads: readonly Upload[]): string {
  const t = useTranslations("jobs");
  const failed = uploads.filter((upload) => upload.state === "failed").length;
  if (failed > 0) return t("pill.uploadsFailed", { count: failed });
  if (uploads.length > 0) return t("pill.uploading", { count: uploads.length });
  if (running > 0 && waiting > 0) return t("pill.both", { running, waiting });
  if (waiting > 0) return t("pill.waiting", { count: waiting });
  return running > 0 ? t("pill.running", { count: running }) : t("pill.ended");
}

export interface PillProps {
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

/** What runs and what is sent, as a button that opens the tray. */
export function PillButton({ isOpen, onToggle, className }: PillProps & { readonly className: string }) {
  const t = useTranslations("jobs");
  const counts = countOpen(useLiveJobs());
  const uploads = useUploads();
  const text = usePillText(counts, uploads);
  const hasFailed = uploads.some((upload) => upload.state === "failed");
  const isBusy = counts.running > 0 || uploads.some((upload) => upload.state === "sending");
  return (
    <button
      type="button"
      onClick={onToggle}
      aria-expanded={isOpen}
      aria-label={isOpen ? t("collapse") : t("openTray", { state: text })}
      className={className}
    >
      {hasFailed ? <CircleAlert className="text-fail" aria-hidden /> : null}
      {!hasFailed && isBusy ? <Spinner /> : null}
      {!hasFailed && !isBusy ? <ListChecks className="text-quiet" aria-hidden /> : null}
      <span className="line-clamp-2 text-start">{text}</span>
    </button>
  );
}
