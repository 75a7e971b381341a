"use client";
import { ImagePlus, Wand, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useState } from "react";
import { useSubmit } from "../../data/use-submit.ts";
import { useWorkflows } from "../../data/use-workflows.ts";
import { Picture } from "../../pictures/picture.tsx";
import { Button } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { addUpload } from "../../uploads/upload-store.ts";
import { useFilePicker } from "../../uploads/use-file-picker.ts";
import { findForWords } from "../words/edit-words.ts";
import { WordsField } from "../words/words-field.tsx";
import { type ActionProps, ActionRow } from "./action-row.tsx";

export interface ChangeStart {
  readonly words: string;
  readonly referenceId: string | null;
}

interface ReferenceProps {
  readonly imageId: string | null;
  readonly onChange: (imageId: string | null) => void;
}

/** A second picture as a model, if one likes. */
function Reference({ imageId, onChange }: ReferenceProps) {
  const t = useTranslations("edit");
  const take = useCallback(
    (files: File[]) => {
      const [file] = files;
      if (file !== undefined) addUpload(file, (image) => onChange(image.id));
    },
    [onChange],
  );
  const pick = useFilePicker(take);
  if (imageId === null) {
    return (
      <Button size="small" look="quiet" className="w-fit! -ml-2.5" onClick={() => pick()}>
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
      <IconButton label={t("referenceRemove")} onClick={() => onChange(null)}>
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
  const [reference, setReference] = useState(start.referenceId);
  const workflows = useWorkflows("edit");
  const takesReference = findForWords(workflows, ["image", "reference"]) !== undefined;
  const workflow = findForWords(workflows, reference === null ? ["image"] : ["image", "reference"]);
  if (workflow === undefined && !takesReference) return null;
  const prompt = words.trim();
  const change = () =>
    submit.mutate({
      kind: "edit",
      ...(workflow === undefined ? {} : { workflow: workflow.name }),
      params: { prompt },
      inputs: { image: image.id, ...(reference === null ? {} : { reference }) },
    });
  return (
    <ActionRow hint={workflow?.title ?? t("referenceNeeded")}>
      <WordsField label={t("changeWords")} hint={t("changeWordsHint")} value={words} onChange={setWords} />
      {takesReference ? <Reference imageId={reference} onChange={setReference} /> : null}
      <Button
        disabled={isBusy || submit.isPending || prompt === "" || workflow === undefined}
        onClick={change}
      >
        <Wand aria-hidden />
        {t("change")}
      </Button>
    </ActionRow>
  );
}
