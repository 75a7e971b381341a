"use client";
import type { JobView } from "@atelier/server/jobs";
import { ArrowDownWideNarrow } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEngineName } from "./use-engine-name.ts";

/** Says that a job runs, or ran, in a slower or simpler place than it was meant for, and why. */
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
