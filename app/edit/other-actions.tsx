"use client";
import { ImagePlus, Wand, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useSubmit } from "../data/use-submit.ts";
import { useWorkflows } from "../data/use-workflows.ts";
import { Picture } from "../pictures/picture.tsx";
import { Button } from "../ui/button.tsx";
import { IconButton } from "../ui/icon-button.tsx";
import { useFilePicker } from "../uploads/use-file-picker.ts";
import { findForWords } from "./action-row.tsx";
import { WordsField } from "./words/words-field.tsx";
import { type ActionProps, ActionRow } from "./panel/action-row.tsx";
import { useReference } from "./panel/use-reference.ts";

export interface ChangeStart {
  readonly words: string;
  readonly referenceId: string | null;
}

/** A second picture to follow, if one likes. */
function Reference({ imageId, isSending, put, clear }: ReturnType<typeof useReference>) {
  const t = useTranslations("edit");
  const pick = useFilePicker(put);
  if (imageId === null) {
    return (
      <Button
        size="small"
        look="quiet"
        className="w-fit! -ml-2.5"
        disabled={isSending}
        onClick={() => pick()}
      >
        <ImagePlus aria-hidden />
        {t("reference")}
      </Button>
    );
  }
  return (
    <div className="flex items-center gap-2.5">
      <Picture
        imageId={imageId}
        variant="thumbnail"
        alt={t("referenceAlt")}
        className="size-12 rounded-control"
      />
      <span className="flex-1 text-xs text-quiet">{t("referenceAlt")}</span>
      <IconButton label={t("referenceRemove")} onClick={clear}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}

/** Changes the picture as the words say; there when a live workflow can. */
export function ChangeAction({ image, isBusy, onJob, start }: ActionProps & { readonly start: ChangeStart }) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const [words, setWords] = useState(start.words);
  const reference = useReference(start.referenceId);
  const workflows = useWorkflows("edit");
  const takesReference = findForWords(workflows, ["image", "reference"]) !== undefined;
  const workflow = findForWords(workflows, reference.imageId === null ? ["image"] : ["image", "reference"]);
  if (workflow === undefined && !takesReference) return null;
  const prompt = words.trim();
  const change = () =>
    submit.mutate({
      kind: "edit",
      ...(workflow === undefined ? {} : { workflow: workflow.name }),
      params: { prompt },
      inputs: { image: image.id, ...(reference.imageId === null ? {} : { reference: reference.imageId }) },
    });
  return (
    <ActionRow hint={workflow?.title ?? t("referenceNeeded")}>
      <WordsField label={t("changeWords")} hint={t("changeWordsHint")} value={words} onChange={setWords} />
      {takesReference ? <Reference {...reference} /> : null}
      <Button
        disabled={
          isBusy || submit.isPending || reference.isSending || prompt === "" || workflow === undefined
        }
        onClick={change}
      >
        <Wand aria-hidden />
        {t("change")}
      </Button>
    </ActionRow>
  );
}
