"use client";
import { useTranslations } from "next-intl";
import { type OfferedWorkflow, useWorkflows } from "../client/queries.ts";
import { useRunTimes } from "../client/submit.ts";
import { useTimeText } from "../jobs/waiting-text.ts";
import { Checkbox, Segmented } from "../ui/fields.tsx";
import { Select } from "../ui/select.tsx";
import { categoriesOf, outfitRequest, studio, usePersonMask, useStudio } from "./state.ts";

export const localChoice = "local";

interface Situation {
  /** Workflows that change outfits, the best first. */
  readonly workflows: readonly OfferedWorkflow[];
  readonly wished: string | null;
  readonly isPainted: boolean;
}

export interface OutfitChoice {
  /** What can run now, the best first; null is the engine of this computer. */
  readonly options: readonly (OfferedWorkflow | null)[];
  readonly chosen: OfferedWorkflow | null;
}

const mask = ({ inputs }: OfferedWorkflow) => inputs.find(({ role }) => role === "mask");

export function takesMask(workflow: OfferedWorkflow | null): boolean {
  return workflow !== null && mask(workflow) !== undefined;
}

export function needsMask(workflow: OfferedWorkflow | null): boolean {
  return workflow !== null && mask(workflow)?.required === true;
}

/** What changes the outfit: what was wished if it can run, else what follows the marks, else the best. */
export function chooseOutfitEngine({ workflows, wished, isPainted }: Situation): OutfitChoice {
  const live = workflows.filter(({ isLive }) => isLive);
  const options = [...live, null];
  if (wished === localChoice) return { options, chosen: null };
  const best = isPainted ? live.find(takesMask) : undefined;
  const chosen = live.find(({ name }) => name === wished) ?? best ?? live.find((one) => !needsMask(one));
  return { options, chosen: chosen ?? null };
}

/** With what the outfit of this person is changed, and what else there is. */
export function useOutfitEngine(personId: string | null) {
  const workflows = useWorkflows("outfit_change");
  const { engine, prompt } = useStudio();
  const { isPainted } = usePersonMask(personId);
  const { options, chosen } = chooseOutfitEngine({ workflows: workflows ?? [], wished: engine, isPainted });
  const takesWords = chosen?.params.prompt !== undefined;
  return {
    isKnown: workflows !== undefined,
    options,
    chosen,
    name: chosen?.name ?? localChoice,
    offersMask: options.some(takesMask),
    takesMask: takesMask(chosen),
    lacksMask: needsMask(chosen) && !isPainted,
    takesWords,
    words: takesWords ? prompt.trim() : "",
  };
}

export function CategoryChoice({ personId }: { readonly personId: string | null }) {
  const t = useTranslations("studio");
  const { category } = useStudio();
  const { chosen } = useOutfitEngine(personId);
  const categories = categoriesOf(chosen);
  return (
    <div className="flex min-h-9 items-center">
      <Segmented
        label={t("category")}
        value={categories.includes(category) ? category : "auto"}
        onChange={(next) => studio.set({ category: next })}
        options={categories.map((value) => ({ value, label: t(`categories.${value}`) }))}
      />
    </div>
  );
}

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

const mostCharacters = 1_000;

/** How long each would take with what lies on the table; a mask is not there before the run. */
function useTimes(options: readonly (OfferedWorkflow | null)[]): readonly (string | null)[] {
  const { personId, garmentId, category } = useStudio();
  const { runs } = useTimeText();
  const requests = options.map((workflow) =>
    personId === null || garmentId === null || needsMask(workflow)
      ? null
      : outfitRequest({ person: personId, garment: garmentId, mask: null, category, words: "", workflow }),
  );
  return useRunTimes(requests).map((runMs) => (runMs === null ? null : runs(runMs)));
}

/** With what the outfit is changed, when there is a choice, and words for what takes them. */
export function EngineChoice({ personId }: { readonly personId: string | null }) {
  const t = useTranslations("studio");
  const { prompt } = useStudio();
  const { options, name, takesWords } = useOutfitEngine(personId);
  const times = useTimes(options.length < 2 ? [] : options);
  if (options.length < 2) return null;
  return (
    <div className="flex flex-col gap-3">
      <Select
        label={t("engine")}
        value={name}
        onChange={(engine) => studio.set({ engine })}
        options={options.map((workflow, index) => ({
          value: workflow?.name ?? localChoice,
          title: workflow?.title ?? t("engineLocal"),
          description: [workflow?.description ?? t("engineLocalMeans"), times[index]]
            .filter(Boolean)
            .join(" · "),
        }))}
      />
      {takesWords ? (
        <label className="flex flex-col gap-1.5">
          <span className="text-xs font-medium">{t("prompt")}</span>
          <textarea
            value={prompt}
            rows={2}
            maxLength={mostCharacters}
            placeholder={t("promptHint")}
            onChange={(event) => studio.set({ prompt: event.target.value })}
            className="field-sizing-content max-h-32 min-h-15 w-full resize-none rounded-control border border-edge bg-surface px-3 py-2 text-sm placeholder:text-quiet hover:border-quiet"
          />
        </label>
      ) : null}
    </div>
  );
}
