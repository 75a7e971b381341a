"use client";
import { Brush } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useWorkflows } from "../client/cloud.ts";
import { useFailureToast } from "../ui/failures.ts";
import { type OfferedWorkflow, useAllWorkflows, useImage } from "../client/queries.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox, Segmented } from "../ui/fields.tsx";
import { later } from "../ui/later.tsx";
import { useConsent, useStateConsent } from "../client/wardrobe.ts";
import { categoriesOf, categoryFor, personMask, studio, usePersonMask, useStudio } from "./state.ts";

export const localChoice = "local";

interface Situation {
  /** Workflows for outfit changes, the preferred one first. */
  readonly workflows: readonly OfferedWorkflow[];
  readonly requested: string | null;
  readonly isPainted: boolean;
}

export interface OutfitChoice {
  /** The engines that can run now, the preferred one first; null is the local engine. */
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

/** Chooses the engine: the requested one if it can run, else one that takes the painted mask, else the first. */
export function chooseOutfitEngine({ workflows, requested, isPainted }: Situation): OutfitChoice {
  const live = workflows.filter(({ isLive }) => isLive);
  const options = [...live, null];
  if (requested === localChoice) return { options, chosen: null };
  const best = isPainted ? live.find((one) => one.cloud === null && takesMask(one)) : undefined;
  // What costs money is used only when it was chosen.
  const free = live.find((one) => one.cloud === null && !needsMask(one));
  const chosen = live.find(({ name }) => name === requested) ?? best ?? free;
  return { options, chosen: chosen ?? null };
}

/** The chosen engine, and the other engines that can run now. */
export function useOutfitEngine(personId: string | null) {
  const workflows = useWorkflows("outfit_change");
  const { engine, prompt } = useStudio();
  const { isPainted } = usePersonMask(personId);
  const { options, chosen } = chooseOutfitEngine({
    workflows: workflows ?? [],
    requested: engine,
    isPainted,
  });
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
        value={categoryFor(chosen, category)}
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

/** The checkbox for the consent of the person on the photo, which the server keeps for that photo. */
export function ConsentCheck({ personId, isMissed }: Props) {
  const t = useTranslations("studio");
  const isStored = useConsent(personId);
  const { mutate, isPending, variables } = useStateConsent();
  const isGiven = isPending && variables.imageId === personId ? variables.isStated : isStored === true;
  return (
    <div className="flex min-h-9 flex-col justify-center gap-1">
      <Checkbox
        checked={isGiven}
        onChange={(isStated) => personId === null || mutate({ imageId: personId, isStated })}
        // A click on what is not known yet would take back what turns out to be stated.
        disabled={isStored === undefined}
      >
        {t("consent")}
      </Checkbox>
      {isMissed && !isGiven ? (
        <p role="alert" className="ps-7 text-xs text-fail">
          {t("consentMissing")}
        </p>
      ) : null}
    </div>
  );
}

/** Where a chosen model of a provider would make the picture, and for which price: what a click agrees to. */
export function ChosenPrice({ chosen }: Pick<OutfitChoice, "chosen">) {
  return chosen?.cloud ? <p className="text-xs text-quiet">{chosen.description}</p> : null;
}

const EngineSelect = later(async () => (await import("./engine-select.tsx")).EngineSelect);

/** What can be chosen among; nothing as long as there is one engine, of this computer. */
export function EngineChoice({ personId }: { readonly personId: string | null }) {
  const workflows = useAllWorkflows();
  const showFailure = useFailureToast();
  const { options, chosen } = useOutfitEngine(personId);
  const hasChoice = options.length > 1 || (workflows?.some(({ cloud }) => cloud !== null) ?? false);
  return (
    <EngineSelect isWanted={hasChoice} onFailure={showFailure} props={{ personId }}>
      <ChosenPrice chosen={chosen} />
    </EngineSelect>
  );
}

const MaskPainter = later(async () => (await import("./mask-painter.tsx")).MaskPainter);

/** Opens the mask painter, when an engine that takes a mask is available. */
export function MaskButton({ personId }: { readonly personId: string | null }) {
  const t = useTranslations("studio.mask");
  const { data: person } = useImage(personId);
  const { offersMask, takesMask } = useOutfitEngine(personId);
  const { marks, isPainted } = usePersonMask(personId);
  const [isOpen, setOpen] = useState(false);
  const showFailure = useFailureToast();
  if (!offersMask || person === undefined) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-1 gap-y-1">
      <Button size="small" onClick={() => setOpen(true)}>
        <Brush aria-hidden />
        {t(isPainted ? "change" : "paint")}
      </Button>
      {isPainted ? (
        <Button
          size="small"
          look="quiet"
          onClick={() => personMask.set({ personId: null, marks: [], isPainted: false })}
        >
          {t("clear")}
        </Button>
      ) : null}
      {isPainted && !takesMask ? <p className="basis-full text-xs text-quiet">{t("unused")}</p> : null}
      <MaskPainter
        isWanted={isOpen}
        onFailure={(error) => {
          setOpen(false);
          showFailure(error);
        }}
        props={{ isOpen, person, marks, onClose: () => setOpen(false) }}
      />
    </div>
  );
}
