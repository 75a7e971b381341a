"use client";
import { useMutation } from "@tanstack/react-query";
import { ArrowDownWideNarrow } from "lucide-react";
import { useTranslations } from "next-intl";
import type { JobView } from "@atelier/server/jobs";
import { freeOnly, withAgreement } from "../client/submit/agreement.ts";
import { api } from "../client/api.ts";
import { ownOnly } from "../client/cloud.ts";
import { useFailureToast } from "../ui/failures.ts";
import { useEngineName } from "./text.ts";

/** Says that a job runs, or ran, on a slower queue or a simpler engine than requested. */
export function DowngradeNote({ job }: { readonly job: JobView }) {
  const t = useTranslations("placement");
  const engineName = useEngineName();
  const { downgrade, chosen } = job.placement ?? {};
  if (downgrade === undefined || chosen === undefined) return null;
  const reasonKey = downgrade.reason as "gpu_out_of_memory";
  const reason = t.has(`reasons.${reasonKey}`) ? t(`reasons.${reasonKey}`) : t("reasons.other");
  const isSameWork = downgrade.from === chosen.need;
  return (
    <p className="flex items-start gap-1.5 text-xs text-warn">
      <ArrowDownWideNarrow className="mt-px size-4 shrink-0" aria-hidden />
      <span>
        {isSameWork
          ? t("downgradeQueue", { queue: chosen.queue, reason })
          : t("downgradeEngine", { engine: engineName(job.engine), reason })}
      </span>
    </p>
  );
}

export function useCancelJob(id: string) {
  const onError = useFailureToast();
  return useMutation({ mutationFn: () => api.jobs.cancel.mutate({ id }), onError });
}

/** A retry is a new job; `onRetried` gets its id. */
export function useRetryJob(id: string, onRetried?: (jobId: string) => void) {
  const onError = useFailureToast();
  return useMutation({
    mutationFn: () =>
      withAgreement(freeOnly, (agreed) => api.jobs.retry.mutate({ id, ownOnly: ownOnly.get(), agreed })),
    onSuccess: (job) => onRetried?.(job.id),
    onError,
  });
}
