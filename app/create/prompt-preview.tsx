"use client";
import { useQuery } from "@tanstack/react-query";
import { Dices, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../client/api.ts";
import { keys } from "../client/queries.ts";
import { Warning } from "../jobs/offer-line.tsx";
import { IconButton } from "../ui/button.tsx";
import { useSettled } from "../ui/hooks.ts";
import { createForm, useForm } from "./form.ts";
import { promptsIn } from "./axis-values.ts";
import { usePresets } from "./library.tsx";
import { isTemplate } from "./requests.ts";

const quietMs = 300;
const faultCharacters = 24;

/** What is drawn from choices and lists, for the first prompt that has some; null where nothing is. */
function useAsked() {
  const { mode, prompt, negativePrompt, styles, seed } = useForm();
  const prompts = mode === "list" ? promptsIn(prompt) : [prompt];
  const shown = prompts.find(isTemplate) ?? (isTemplate(negativePrompt) ? (prompts[0] ?? "") : null);
  const text = useSettled(
    shown === null ? null : JSON.stringify([shown, negativePrompt, styles, seed]),
    quietMs,
  );
  // Safe cast: it was written above.
  return text === null ? null : (JSON.parse(text) as [string, string, string[], number | null]);
}

/** What becomes of a prompt with choices, lists and styles, or what is wrong with it. */
export function PromptPreview() {
  const t = useTranslations("create.preview");
  const [round, setRound] = useState(0);
  const asked = useAsked();
  const { data } = useQuery({
    queryKey: keys.promptPreview([...(asked ?? []), round]),
    queryFn: () => {
      const [prompt, negativePrompt, styles, seed] = asked ?? ["", "", [], null];
      const template = { styles, ...(seed === null ? {} : { seed }) };
      return api.presets.preview.mutate({ prompt, negativePrompt, template });
    },
    enabled: asked !== null,
    placeholderData: (before) => before,
    retry: false,
  });
  if (asked === null || data === undefined) return null;
  const { problem, examples, texts } = data;
  if (problem !== null) {
    const at = problem.from?.slice(0, faultCharacters) ?? "";
    return (
      <div role="status" className="px-4 pb-3 sm:px-5">
        <Warning>{at === "" ? problem.message : t("fault", { message: problem.message, at })}</Warning>
      </div>
    );
  }
  return (
    <div className="mx-4 mb-3 flex items-start gap-2 rounded-control bg-well py-1.5 pe-1 ps-3 sm:mx-5">
      <div role="status" className="min-w-0 flex-1 py-1 text-xs text-quiet">
        <p className="tabular">{t("texts", { count: texts })}</p>
        <ul className="mt-0.5 flex flex-col gap-0.5">
          {examples.map(({ prompt }, at) => (
            // oxlint-disable-next-line react/no-array-index-key -- two drawn texts may be equal
            <li key={at} className="line-clamp-2 break-words text-ink">
              {prompt}
            </li>
          ))}
        </ul>
      </div>
      {texts > 1 ? (
        <IconButton label={t("again")} onClick={() => setRound((before) => before + 1)}>
          <Dices aria-hidden />
        </IconButton>
      ) : null}
    </div>
  );
}

/** The styles that are put around the prompt, each to be taken away. */
export function StyleChips() {
  const t = useTranslations("create");
  const { styles } = useForm();
  const offered = usePresets("style");
  if (styles.length === 0) return null;
  const titleOf = (name: string) => offered.find((style) => style.name === name)?.title ?? name;
  const remove = (name: string) => createForm.set({ styles: styles.filter((one) => one !== name) });
  return (
    <ul aria-label={t("styles")} className="flex flex-wrap gap-1.5 px-4 pb-3 sm:px-5">
      {styles.map((name) => (
        <li key={name}>
          <button
            type="button"
            aria-label={t("removeStyle", { name: titleOf(name) })}
            onClick={() => remove(name)}
            className="touch flex h-7 items-center gap-1.5 rounded-full bg-well px-2.5 text-xs ring-1 ring-line ring-inset hover:bg-hover [&_svg]:size-3.5"
          >
            {titleOf(name)}
            <X aria-hidden className="text-quiet" />
          </button>
        </li>
      ))}
    </ul>
  );
}
