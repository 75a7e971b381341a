"use client";
import { useTranslations } from "next-intl";
import { useCapability } from "../client/queries.ts";
import { useEstimate } from "../data/use-estimate.ts";
import { useTimeText } from "../jobs/waiting/use-time-text.ts";
import { useOutfitEngine } from "./engine/use-outfit-engine.ts";
import { outfitRequest } from "./outfit-request.ts";
import { useStudio } from "./use-studio.ts";

interface Props {
  /** A result is shown, so the line says what it is instead of what it will be. */
  readonly isDone: boolean;
  /** What would be run is on the table and nothing runs yet. */
  readonly isReady: boolean;
}

/** When it would start and how long it would run. */
function Expected() {
  const { personId, garmentId, category } = useStudio();
  const t = useTranslations("studio");
  const { starts, runs } = useTimeText();
  const { chosen, takesMask, words } = useOutfitEngine(personId);
  // The mask of a request says nothing about time, but a workflow that needs one refuses to be asked without.
  const isAsked = personId !== null && garmentId !== null && !takesMask;
  const wish = { category, words, workflow: chosen, mask: null };
  const answer = useEstimate(
    isAsked ? outfitRequest({ ...wish, person: personId, garment: garmentId }) : null,
  );
  if (answer === undefined || !answer.isPossible) return null;
  if (!answer.isLive) return <span className="text-warn">{t("away")}</span>;
  return <span className="tabular">{`${starts(answer.waitMs)}, ${runs(answer.runMs)}.`}</span>;
}

/** Why it cannot be done, or what is missing for it; null when all is there. */
function useObstacle(isDone: boolean): string | null {
  const t = useTranslations("studio");
  const { personId } = useStudio();
  const capability = useCapability("outfit_change");
  const { lacksMask } = useOutfitEngine(personId);
  if (capability === undefined) return null;
  if (!capability.available) return capability.reason ?? t("noEngine");
  if (isDone) return null;
  return capability.reason ?? (lacksMask ? t("mask.needed") : null);
}

/** Which engine does it, what that means and how long it takes. */
export function EngineLine({ isDone, isReady }: Props) {
  const t = useTranslations("studio");
  const { personId } = useStudio();
  const { chosen, options } = useOutfitEngine(personId);
  const obstacle = useObstacle(isDone);
  if (obstacle !== null) return <p className="text-xs text-warn">{obstacle}</p>;
  const localName = t(isDone ? "engineLocalDone" : "engineLocal");
  // Where there is a choice it says what was chosen.
  const isNamed = isDone || options.length < 2;
  return (
    <p className="flex min-h-[18px] flex-wrap gap-x-2 text-xs text-quiet">
      {isNamed ? <span>{chosen?.title ?? localName}</span> : null}
      {isReady ? <Expected /> : null}
    </p>
  );
}
