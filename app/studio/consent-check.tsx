"use client";
import { useTranslations } from "next-intl";
import { Checkbox } from "../ui/checkbox.tsx";
import { studio } from "./studio-store.ts";
import { useStudio } from "./use-studio.ts";

interface Props {
  readonly personId: string | null;
  readonly isMissed: boolean;
}

/** The statement about the person on the photo; made anew for each photo. */
export function ConsentCheck({ personId, isMissed }: Props) {
  const t = useTranslations("studio");
  const { consentedIds } = useStudio();
  const isGiven = personId !== null && consentedIds.includes(personId);
  function state(given: boolean): void {
    if (personId === null) return;
    const others = consentedIds.filter((id) => id !== personId);
    studio.set({ consentedIds: given ? [...others, personId] : others });
  }
  return (
    <div className="flex min-h-9 flex-col justify-center gap-1">
      <Checkbox checked={isGiven} onChange={state} disabled={personId === null}>
        {t("consent")}
      </Checkbox>
      {isMissed && !isGiven ? (
        <p role="alert" className="pl-7 text-xs text-fail">
          {t("consentMissing")}
        </p>
      ) : null}
    </div>
  );
}
