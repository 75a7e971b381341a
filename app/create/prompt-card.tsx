"use client";
import { useTranslations } from "next-intl";
import type { OfferedWorkflow } from "../data/use-workflows.ts";
import { RunButton } from "../frame/run-button.tsx";
import { createForm } from "./form/form-store.ts";
import { useForm } from "./form/use-form.ts";
import { EstimateLine } from "./estimate-line.tsx";
import { requestOf } from "./requests.ts";

const mostCharacters = 4_000;

interface Props {
  readonly chosen: OfferedWorkflow | undefined;
  /** Of a batch that started partly, those that did not; else null. */
  readonly left: number | null;
  readonly canMake: boolean;
  readonly isBusy: boolean;
  readonly onMake: () => void;
}

/** The words, large, and the one thing to do with them. */
export function PromptCard({ chosen, left, canMake, isBusy, onMake }: Props) {
  const t = useTranslations("create");
  const form = useForm();
  const takesNegative = chosen?.params.negativePrompt !== undefined;
  return (
    <section
      aria-label={t("words")}
      className="flex flex-col rounded-card border border-edge/70 bg-surface transition-colors duration-120 focus-within:border-ink"
    >
      <textarea
        aria-label={t("prompt")}
        placeholder={t("promptHint")}
        value={form.prompt}
        maxLength={mostCharacters}
        rows={3}
        onChange={(event) => createForm.set({ prompt: event.target.value })}
        className="field-sizing-content max-h-[40dvh] min-h-26 w-full resize-none bg-transparent px-4 pt-4 pb-2 text-lg outline-none placeholder:text-quiet sm:px-5"
      />
      {takesNegative ? (
        <label className="mx-4 flex items-baseline gap-3 border-t border-line py-2.5 sm:mx-5">
          <span className="shrink-0 text-xs text-quiet">{t("negativePrompt")}</span>
          <textarea
            value={form.negativePrompt}
            placeholder={t("negativePromptHint")}
            maxLength={mostCharacters}
            rows={1}
            onChange={(event) => createForm.set({ negativePrompt: event.target.value })}
            className="field-sizing-content max-h-24 min-w-0 flex-1 resize-none bg-transparent text-sm outline-none placeholder:text-quiet"
          />
        </label>
      ) : null}
      <div className="flex items-center justify-between gap-x-4 gap-y-2 border-t border-line px-4 py-3 max-sm:flex-col max-sm:items-stretch sm:px-5">
        <EstimateLine
          request={chosen === undefined ? null : requestOf({ ...form, count: 1 }, chosen)}
          count={form.count}
        />
        <RunButton canRun={canMake} isBusy={isBusy} onRun={onMake}>
          {left === null ? t("make", { count: form.count }) : t("makeOthers", { count: left })}
        </RunButton>
      </div>
    </section>
  );
}
