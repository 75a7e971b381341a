"use client";
import { ImagePlus, Wand, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useState } from "react";
import { useWorkflows } from "../../client/cloud.ts";
import { choiceOf } from "../../client/submit.ts";
import { Picture } from "../../pictures/picture.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { useFilePicker, useFileTarget } from "../../uploads/drop.tsx";
import { addUpload, dropUpload, useUpload } from "../../uploads/store.ts";
import { findForPrompt, ModeAction, ModeHint, type ModeProps, PromptField, settingsOf } from "./parts.tsx";

interface ReferenceProps {
  readonly imageId: string | null;
  readonly isUploading: boolean;
  readonly upload: (files: readonly File[]) => void;
  readonly onRemove: () => void;
}

/** A file that is on its way to be the reference. */
function useReferenceUpload(onStored: (imageId: string) => void) {
  const [uploadId, setUploadId] = useState<string | null>(null);
  const state = useUpload(uploadId)?.state;
  const upload = useCallback(
    (files: readonly File[]) => {
      const [file] = files;
      if (file === undefined) return;
      if (uploadId !== null) dropUpload(uploadId);
      const id = addUpload(file, (image) => {
        dropUpload(id);
        onStored(image.id);
      });
      setUploadId(id);
    },
    [onStored, uploadId],
  );
  return { isUploading: state === "waiting" || state === "sending", upload };
}

/** Shows the reference picture with "Remove", or the button to choose one. A file that is dropped or pasted becomes it. */
function Reference({ imageId, isUploading, upload, onRemove }: ReferenceProps) {
  const t = useTranslations("edit");
  const pick = useFilePicker(upload);
  useFileTarget(upload);
  if (imageId === null) {
    return (
      <Button size="small" className="self-start" disabled={isUploading} onClick={() => pick()}>
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
      <IconButton label={t("referenceRemove")} onClick={onRemove}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}

/** Edit: the whole picture becomes what the prompt says, with a reference where a workflow takes one. */
export function ChangeMode({ image, modes, isBusy, onJob, candidates }: ModeProps) {
  const t = useTranslations("edit");
  const [{ prompt: text, referenceId }, change] = settingsOf(modes, "change");
  const { change: changeOf } = modes;
  const onStored = useCallback((id: string) => changeOf("change", { referenceId: id }), [changeOf]);
  const { isUploading, upload } = useReferenceUpload(onStored);
  const workflows = useWorkflows("edit");
  const takesReference = findForPrompt(workflows, ["image", "reference"]) !== undefined;
  const workflow = findForPrompt(workflows, referenceId === null ? ["image"] : ["image", "reference"]);
  const prompt = text.trim();
  const request = {
    kind: "edit",
    ...(workflow === undefined ? {} : choiceOf(workflow)),
    params: { prompt },
    inputs: { image: image.id, ...(referenceId === null ? {} : { reference: referenceId }) },
  } as const;
  const obstacle = () => {
    if (workflow === undefined) return t(takesReference ? "referenceNeeded" : "modes.change.none");
    if (isUploading) return t("modes.change.sending");
    return prompt === "" ? t("modes.promptMissing") : null;
  };
  return (
    <>
      <ModeHint mode="change" />
      <PromptField
        label={t("changePrompt")}
        hint={t("changePromptHint")}
        value={text}
        onChange={(next) => change({ prompt: next })}
      />
      {takesReference ? (
        <Reference
          imageId={referenceId}
          isUploading={isUploading}
          upload={upload}
          onRemove={() => change({ referenceId: null })}
        />
      ) : null}
      <ModeAction
        icon={<Wand aria-hidden />}
        label={t("change")}
        obstacle={obstacle()}
        quoted={workflow === undefined || prompt === "" ? null : request}
        makeRequest={() => request}
        candidates={candidates}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}
