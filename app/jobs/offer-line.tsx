"use client";
import { CircleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import type { Estimate } from "../client/submit.ts";
import { usePlaceText } from "../frame/own-only.tsx";
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
  /** Undefined until it is known. */
  readonly answer: Estimate | undefined;
}

type Offer = Extract<Estimate, { isPossible: true }>;

/** Where an offer runs, and what that costs. */
function useOfferPlace(): (offer: Offer) => string {
  const t = useTranslations("jobs.offer");
  const placeText = usePlaceText();
  const titleOf = useWorkflowTitle();
  return ({ cloud, workflow, engine }) => {
    if (cloud !== null) return placeText(cloud);
    if (workflow !== null) return t("onServer", { workflow: titleOf(workflow) });
    return t(engine === "local" ? "here" : "onAnyServer");
  };
}

/** Where a job would run, when it starts, how long it takes and what it costs; or why it cannot run. */
export function OfferLine({ answer }: OfferLineProps) {
  const t = useTranslations("jobs.offer");
  const away = useTranslations("create.away");
  const { starts, runs } = useTimeText();
  const placeOf = useOfferPlace();
  if (answer === undefined) return <p className="min-h-[18px]" />;
  if (!answer.isPossible) return <Warning>{answer.reason}</Warning>;
  if (answer.awaits !== null) return <Warning>{away(answer.awaits)}</Warning>;
  return (
    <p className="tabular min-h-[18px] text-xs text-quiet">
      {`${placeOf(answer)}. ${t("times", { starts: starts(answer.waitMs), runs: runs(answer.runMs) })}`}
      {answer.note === null ? null : ` ${answer.note}`}
    </p>
  );
}
