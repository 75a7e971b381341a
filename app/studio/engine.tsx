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

/** The engine: the wished one if it can run, else one that takes the mask, else the best. */
export function chooseOutfitEngine({ workflows, wished, isPainted }: Situation): OutfitChoice {
  const live = workflows.filter(({ isLive }) => isLive);
  const options = [...live, null];
  if (wished === localChoice) return { options, chosen: null };
  const best = isPainted ? live.find(takesMask) : undefined;
  const chosen = live.find(({ name }) => name === wished) ?? best ?? live.find((one) => !needsMask(one));
  return { options, chosen: chosen ?? null };
}

/** The engine for this person's outfit, and the other options. */
export function useOutfitEngine(personId: string | null) {
  const workflows = useWorkflows("outfit_change");
  const { engine, prompt } = useStudio();
  const { isPainted } = usePersonMask(personId);
  const { options, chosen } = chooseOutfitEngine({ workflows: workflows ?? [], wished: engine, isPainted });
  const takesPrompt = chosen?.params.prompt !== undefined;
  return {
    isKnown: workflows !== undefined,
    options,
    chosen,
    name: chosen?.name ?? localChoice,
    offersMask: options.some(takesMask),
    takesMask: takesMask(chosen),
    lacksMask: needsMask(chosen) && !isPainted,
    takesPrompt,
    prompt: takesPrompt ? prompt.trim() : "",
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

/** The consent for the person on the photo; asked once for each photo. */
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

const maxCharacters = 1_000;

/** The estimated run time of each option; null without inputs or with a required mask, which exists only after the start. */
function useTimes(options: readonly (OfferedWorkflow | null)[]): readonly (string | null)[] {
  const { personId, garmentId, category } = useStudio();
  const { runs } = useTimeText();
  const requests = options.map((workflow) =>
    personId === null || garmentId === null || needsMask(workflow)
      ? null
      : outfitRequest({ person: personId, garment: garmentId, mask: null, category, prompt: "", workflow }),
  );
  return useRunTimes(requests).map((runMs) => (runMs === null ? null : runs(runMs)));
}

/** The choice of the engine, and a prompt for a workflow that takes one. */
export function EngineChoice({ personId }: { readonly personId: string | null }) {
  const t = useTranslations("studio");
  const { prompt } = useStudio();
  const { options, name, takesPrompt } = useOutfitEngine(personId);
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
      {takesPrompt ? (
        <label className="flex flex-col gap-1.5">
          <span className="text-xs font-medium">{t("prompt")}</span>
          <textarea
            value={prompt}
            rows={2}
            maxLength={maxCharacters}
            placeholder={t("promptHint")}
            onChange={(event) => studio.set({ prompt: event.target.value })}
            className="field-sizing-content max-h-32 min-h-15 w-full resize-none rounded-control border border-edge bg-surface px-3 py-2 text-sm placeholder:text-quiet hover:border-quiet"
          />
        </label>
      ) : null}
    </div>
  );
}
