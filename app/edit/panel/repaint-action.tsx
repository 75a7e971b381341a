"use client";
import { PaintbrushVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useWorkflows } from "../../data/use-workflows.ts";
import { Button } from "../../ui/button.tsx";
import { hasPaint, type StrokeHistory } from "../mask.ts";
import { findForWords } from "../action-row.tsx";
import { WordsField } from "../words/words-field.tsx";
import { type ActionProps, ActionRow } from "./action-row.tsx";
import { useInpaint } from "../inpaint-actions.tsx";

interface Props extends ActionProps {
  readonly history: StrokeHistory;
  readonly words: string;
}

/** Paints what the words say where it is marked; there when a live workflow can. */
export function RepaintAction({ image, history, isBusy, onJob, words: first }: Props) {
  const t = useTranslations("edit");
  const inpaint = useInpaint(image, onJob);
  const [words, setWords] = useState(first);
  const workflow = findForWords(useWorkflows("inpaint"), ["image", "mask"]);
  if (workflow === undefined) return null;
  const isMarked = hasPaint(history);
  const prompt = words.trim();
  return (
    <ActionRow hint={isMarked ? null : t(first === "" ? "repaintHint" : "repaintAgainHint")}>
      <WordsField label={t("repaintWords")} hint={t("repaintWordsHint")} value={words} onChange={setWords} />
      <Button
        disabled={isBusy || inpaint.isPending || !isMarked || prompt === ""}
        onClick={() => inpaint.mutate({ strokes: history.strokes, workflow: workflow.name, prompt })}
      >
        <PaintbrushVertical aria-hidden />
        {t("repaint")}
      </Button>
    </ActionRow>
  );
}
