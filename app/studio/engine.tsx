"use client";
import { useTranslations } from "next-intl";
import { useRunTimes } from "../data/use-run-times.ts";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import { useTimeText } from "../jobs/waiting/use-time-text.ts";
import { Select } from "../ui/select.tsx";
import { outfitRequest } from "./outfit-request.ts";
import { studio } from "./studio-store.ts";
import { useStudio } from "./use-studio.ts";
import { localChoice, needsMask } from "./engine/choose-outfit-engine.ts";
import { useOutfitEngine } from "./engine/use-outfit-engine.ts";

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
          <span className="text-xs font-medium">{t("words")}</span>
          <textarea
            value={prompt}
            rows={2}
            maxLength={mostCharacters}
            placeholder={t("wordsHint")}
            onChange={(event) => studio.set({ prompt: event.target.value })}
            className="field-sizing-content max-h-32 min-h-15 w-full resize-none rounded-control border border-edge bg-surface px-3 py-2 text-sm placeholder:text-quiet hover:border-quiet"
          />
        </label>
      ) : null}
    </div>
  );
}
