"use client";
import { CircleAlert, ListChecks } from "lucide-react";
import { useTranslations } from "next-intl";
import { Spinner } from "../../ui/spinner.tsx";
import type { Upload } from "../../uploads/store.ts";

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

export function DockPill({ openCount, uploads, onOpen }: Props) {
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
      className="fixed right-3 bottom-[calc(68px+env(safe-area-inset-bottom))] z-40 flex h-10 items-center gap-2 rounded-full bg-raised px-4 text-xs font-medium shadow-float transition-colors duration-120 hover:bg-hover max-wide:in-[:root:has(.room)]:top-16 max-wide:in-[:root:has(.room)]:bottom-auto max-wide:in-[:root:has([data-selection-bar])]:bottom-[calc(128px+env(safe-area-inset-bottom))] wide:right-5 wide:bottom-5"
    >
      {hasFailed ? <CircleAlert className="size-4 text-fail" aria-hidden /> : null}
      {!hasFailed && isBusy ? <Spinner /> : null}
      {!hasFailed && !isBusy ? <ListChecks className="size-4 text-quiet" aria-hidden /> : null}
      {text}
    </button>
  );
}
