"use client";
import { CircleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { useEstimate } from "../data/use-estimate.ts";
import { useTimeText } from "../jobs/waiting/use-time-text.ts";
import type { CreateRequest } from "./requests.ts";

interface Props {
  /** null while there is nothing to ask about. */
  readonly request: CreateRequest | null;
  readonly count: number;
}

/** The words and the seed say nothing about time: typing must not ask anew. */
function timeRequest(request: CreateRequest | null): CreateRequest | null {
  if (request === null) return null;
  const { seed: _seed, negativePrompt: _negative, ...params } = request.params;
  return { ...request, params: { ...params, prompt: "-" } };
}

function Warning({ children }: { readonly children: ReactNode }) {
  return (
    <p className="flex min-w-0 items-start gap-1.5 text-xs text-warn">
      <CircleAlert className="mt-px size-4 shrink-0" aria-hidden />
      <span>{children}</span>
    </p>
  );
}

/** When it would start and how long it would take, or why not. */
export function EstimateLine({ request, count }: Props) {
  const t = useTranslations("create");
  const { starts, runs } = useTimeText();
  const answer = useEstimate(timeRequest(request));
  if (answer === undefined) return <p className="h-[18px]" />;
  if (!answer.isPossible) return <Warning>{answer.reason}</Warning>;
  if (!answer.isLive) return <Warning>{t("away")}</Warning>;
  const times = { starts: starts(answer.waitMs), runs: runs(answer.runMs), count };
  return (
    <p className="tabular text-xs text-quiet">{t(answer.runs === 0 ? "estimateGuess" : "estimate", times)}</p>
  );
}
