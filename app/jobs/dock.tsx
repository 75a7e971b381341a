"use client";
import { CircleAlert, ListChecks } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect } from "react";
import { useFailureToast } from "../client/failures.ts";
import { useLiveJobs, useOpenJobCount } from "../live/hooks.tsx";
import { Spinner } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";
import { type Upload, useUploads } from "../uploads/store.ts";

function usePillText(openCount: number, uploads: readonly Upload[]): string {
  const t = useTranslations("jobs");
  const failed = uploads.filter((upload) => upload.state === "failed").length;
  if (failed > 0) return t("pill.uploadsFailed", { count: failed });
  if (uploads.length > 0) return t("pill.uploading", { count: uploads.length });
  return openCount > 0 ? t("pill.running", { count: openCount }) : t("pill.idle");
}

interface PillProps {
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function PillButton({ isOpen, onToggle, className }: PillProps & { readonly className: string }) {
  const t = useTranslations("jobs");
  const openCount = useOpenJobCount();
  const uploads = useUploads();
  const text = usePillText(openCount, uploads);
  const hasFailed = uploads.some((upload) => upload.state === "failed");
  const isBusy = openCount > 0 || uploads.some((upload) => upload.state === "sending");
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
      <span className="truncate">{text}</span>
    </button>
  );
}

/** In the frame's side: what runs and what is sent, once there is something. Opens the tray. */
export function JobsPill(props: PillProps) {
  const count = useLiveJobs().length + useUploads().length;
  if (count === 0 && !props.isOpen) return null;
  return (
    <PillButton
      {...props}
      className="mb-2 flex h-9 w-full items-center gap-3 rounded-control border border-line bg-surface px-2 text-xs font-medium transition-colors duration-120 hover:bg-hover aria-expanded:bg-hover [&_svg]:size-[18px] [&_svg]:shrink-0"
    />
  );
}

/** Over the tabs of a phone, which count the jobs themselves: a row of its own for uploads. All that stands on the tabs moves up. */
export function UploadsRow(props: PillProps) {
  if (useUploads().length === 0) return null;
  return (
    <div data-jobs-row className="border-b border-line">
      <PillButton
        {...props}
        className="mx-auto flex h-10 w-full max-w-[480px] items-center justify-center gap-2 px-4 text-xs font-medium [&_svg]:size-4 [&_svg]:shrink-0"
      />
    </div>
  );
}

const Tray = later(async () => (await import("./tray.tsx")).Tray);

/** The browser asks before the page is left while files wait or are sent. */
function useLeaveWarning(uploads: readonly Upload[]): void {
  const isBusy = uploads.some(({ state }) => state === "waiting" || state === "sending");
  useEffect(() => {
    if (!isBusy) return;
    const leaving = new AbortController();
    window.addEventListener("beforeunload", (event) => event.preventDefault(), { signal: leaving.signal });
    return () => leaving.abort();
  }, [isBusy]);
}

/** The tray of jobs and uploads, which opens beside the frame's side or over the tabs. */
export function JobsTray({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const showFailure = useFailureToast();
  useLeaveWarning(useUploads());
  return (
    <Tray
      isWanted={isOpen}
      isShown={isOpen}
      onFailure={(error) => {
        onClose();
        showFailure(error);
      }}
      props={{ onClose }}
    />
  );
}
