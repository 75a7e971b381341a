"use client";
import type { JobView } from "@atelier/server/jobs";
import { Ban, CircleAlert, CircleCheck, Clock, LoaderCircle, type LucideIcon } from "lucide-react";
import { useTranslations } from "next-intl";
import { StateChip, type Tone } from "./state-chip.tsx";

const looks: Record<JobView["status"], readonly [LucideIcon, Tone]> = {
  pending: [Clock, "quiet"],
  queued: [Clock, "quiet"],
  waiting_for_engine: [LoaderCircle, "info"],
  processing: [LoaderCircle, "info"],
  completed: [CircleCheck, "ok"],
  failed: [CircleAlert, "fail"],
  cancelled: [Ban, "quiet"],
};

interface Props {
  readonly status: JobView["status"];
  readonly isCancelling?: boolean;
}

export function JobStatusChip({ status, isCancelling = false }: Props) {
  const t = useTranslations("jobs");
  const [icon, tone] = looks[status];
  const isOpen = tone === "info" || status === "pending" || status === "queued";
  return (
    <StateChip icon={icon} tone={tone} spins={tone === "info"}>
      {isCancelling && isOpen ? t("cancelling") : t(`status.${status}`)}
    </StateChip>
  );
}
