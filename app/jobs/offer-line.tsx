"use client";
import { CircleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import type { Estimate } from "../client/submit/job.ts";
import { usePlaceText } from "../parts/own-only.tsx";
import { useWorkflowTitle } from "./text.ts";
import { useTimeText } from "./waiting-text.ts";

export function Warning({ children }: { readonly children: ReactNode }) {
  return (
    <p className="flex min-w-0 items-start gap-1.5 text-xs text-warn">
      <CircleAlert className="mt-px size-4 shrink-0" aria-hidden />
      <span>{children}</span>
    </p>
  );
}

interface OfferLineProps {
  /** Of one job; undefined until it is known. */
  readonly answer: Estimate | undefined;
  /** As many such jobs are started. Default: 1. */
  readonly count?: number;
}

type Offer = Extract<Estimate, { isPossible: true }>;

/** Where so many of an offer run, and what that costs, as a sentence. */
function useOfferPlace(): (offer: Offer, count: number) => string {
  const t = useTranslations("jobs.offer");
  const placeText = usePlaceText();
  const titleOf = useWorkflowTitle();
  return ({ cloud, workflow, engine }, count) => {
    if (cloud !== null) return placeText(cloud, count);
    if (workflow !== null) return t("onServer", { workflow: titleOf(workflow) });
    return t(engine === "local" ? "here" : "onAnyServer");
  };
}

/** Where jobs would run, when they start, how long each takes and what they cost; or why they cannot run. */
export function OfferLine({ answer, count = 1 }: OfferLineProps) {
  const t = useTranslations("jobs.offer");
  const { starts, runs } = useTimeText();
  const placeOf = useOfferPlace();
  if (answer === undefined) return <p className="min-h-[18px]" />;
  if (!answer.isPossible) return <Warning>{answer.reason}</Warning>;
  const isStarted = answer.awaits === "start";
  if (answer.awaits !== null && !isStarted) return <Warning>{t(`away.${answer.awaits}`)}</Warning>;
  const times = { starts: starts(answer.waitMs), runs: runs(answer.runMs), count };
  const start = isStarted ? t("away.start") : null;
  const sentences = [
    placeOf(answer, count),
    start,
    t(answer.runs === 0 ? "guess" : "times", times),
    answer.note,
  ];
  return (
    <p className="tabular min-h-[18px] text-xs text-quiet">
      {sentences.filter((sentence) => sentence !== null).join(" ")}
    </p>
  );
}
