"use client";
import { useTranslations } from "next-intl";
import type { OfferedWorkflow } from "../client/queries.ts";
import { useRunTimes } from "../client/submit/run-times.ts";
import { OwnOnlyChoice } from "../parts/own-only.tsx";
import { useTimeText } from "../jobs/waiting-text.ts";
import { Select } from "../ui/select.tsx";
import { ChosenPrice, localChoice, needsMask, useOutfitEngine } from "./engine.tsx";
import { outfitRequest, studio, useStudio } from "./state.ts";

const maxCharacters = 1_000;

/** The estimated run time of each option; null without inputs, and for a workflow that requires a mask: it is uploaded at the start. */
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

/** The select of engines, and a prompt field for a workflow that takes one. */
export function EngineSelect({ personId }: { readonly personId: string | null }) {
  const t = useTranslations("studio");
  const { prompt } = useStudio();
  const { options, name, chosen, takesPrompt } = useOutfitEngine(personId);
  const times = useTimes(options.length < 2 ? [] : options);
  if (options.length < 2) return <OwnOnlyChoice />;
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
      <ChosenPrice chosen={chosen} />
      <OwnOnlyChoice />
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
