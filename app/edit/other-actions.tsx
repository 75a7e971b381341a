"use client";
import { ImagePlus, Maximize2, ScanFace, Scissors, Wand, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useState } from "react";
import { useWorkflows } from "../client/cloud.ts";
import { useCapability } from "../client/queries.ts";
import { agreedTo, agreedToChoice, choiceOf, useEstimate, useSubmit } from "../client/submit.ts";
import { useEstimatePlaceText } from "../frame/own-only.tsx";
import { useUpscaleOffer } from "../pictures/actions.tsx";
import { Picture } from "../pictures/picture.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Segmented } from "../ui/fields.tsx";
import { useFilePicker } from "../uploads/drop.tsx";
import { addUpload, dropUpload, useUpload } from "../uploads/store.ts";
import {
  type ActionProps,
  ActionRow,
  findForPrompt,
  findForScale,
  placeOf,
  PromptField,
} from "./action-row.tsx";

/** "Remove background". */
export function CutOutAction({ image, isBusy, onJob }: ActionProps) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const capability = useCapability("remove_background");
  const request = { kind: "remove_background", inputs: { image: image.id } } as const;
  const placeText = useEstimatePlaceText();
  const answer = useEstimate(request);
  const place = placeText(answer);
  return (
    <ActionRow hint={capability?.reason ?? place ?? t("cutOutHint")}>
      <Button
        disabled={isBusy || submit.isPending || capability?.available === false}
        onClick={() => submit.mutate({ request, shown: agreedTo(answer) })}
      >
        <Scissors aria-hidden />
        {t("cutOut")}
      </Button>
    </ActionRow>
  );
}

/** "Restore faces"; hidden until a server that can run it is connected. */
export function RestoreFacesAction({ image, isBusy, onJob }: ActionProps) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const capability = useCapability("restore_faces");
  if (capability?.available !== true) return null;
  return (
    <ActionRow hint={capability.reason ?? t("restoreFacesHint")}>
      <Button
        disabled={isBusy || submit.isPending}
        onClick={() => submit.mutate({ request: { kind: "restore_faces", inputs: { image: image.id } } })}
      >
        <ScanFace aria-hidden />
        {t("restoreFaces")}
      </Button>
    </ActionRow>
  );
}

/** Whether a live engine can upscale by 4. `workflow` is the ComfyUI workflow to use; undefined: the server chooses. */
function useUpscaleByFour() {
  const workflow = findForScale(useWorkflows("upscale"), 4);
  const hasIopaint = useCapability("upscale")?.engines.includes("iopaint") ?? false;
  return { isPossible: hasIopaint || workflow !== undefined, workflow };
}

/** Upscale by 2, or by 4 while a live engine can. */
export function UpscaleAction({ image, isBusy, onJob, start }: ActionProps & { readonly start: 2 | 4 }) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const [chosenScale, setChosenScale] = useState<2 | 4>(start);
  const byFour = useUpscaleByFour();
  const scale = byFour.isPossible ? chosenScale : 2;
  const offer = useUpscaleOffer(image, scale);
  const workflow = scale === 4 ? byFour.workflow : undefined;
  const upscale = () =>
    submit.mutate({
      request: {
        kind: "upscale",
        ...(workflow === undefined ? {} : choiceOf(workflow)),
        params: { scale },
        inputs: { image: image.id },
      },
      shown: agreedToChoice(workflow),
    });
  return (
    <ActionRow hint={offer.reason ?? (workflow && placeOf(workflow)) ?? t("upscaleTo", { size: offer.size })}>
      <div className="flex gap-2">
        <Button
          className="min-w-0 flex-1"
          disabled={isBusy || submit.isPending || !offer.isPossible}
          onClick={upscale}
        >
          <Maximize2 aria-hidden />
          {t("upscale", { scale })}
        </Button>
        {byFour.isPossible ? (
          <Segmented
            label={t("upscaleBy")}
            value={String(scale)}
            onChange={(next) => setChosenScale(next === "4" ? 4 : 2)}
            options={[
              { value: "2", label: "×2" },
              { value: "4", label: "×4" },
            ]}
          />
        ) : null}
      </div>
    </ActionRow>
  );
}

/** State of the reference picture of an edit: stored, uploading or absent. */
function useReference(startId: string | null) {
  const [imageId, setImageId] = useState(startId);
  const [uploadId, setUploadId] = useState<string | null>(null);
  const state = useUpload(uploadId)?.state;
  const upload = useCallback(
    (files: readonly File[]) => {
      const [file] = files;
      if (file === undefined) return;
      if (uploadId !== null) dropUpload(uploadId);
      const id = addUpload(file, (image) => {
        dropUpload(id);
        setImageId(image.id);
      });
      setUploadId(id);
    },
    [uploadId],
  );
  const clear = useCallback(() => setImageId(null), []);
  return { imageId, isUploading: state === "waiting" || state === "sending", upload, clear };
}

/** Start values of `ChangeAction`. */
export interface ChangeStart {
  readonly prompt: string;
  readonly referenceId: string | null;
}

/** Shows the reference picture with "Remove", or the button to choose one. */
function Reference({ imageId, isUploading, upload, clear }: ReturnType<typeof useReference>) {
  const t = useTranslations("edit");
  const pick = useFilePicker(upload);
  if (imageId === null) {
    return (
      <Button
        size="small"
        look="quiet"
        className="w-fit! -ml-2.5"
        disabled={isUploading}
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

/** "Edit with a prompt", with an optional reference picture; hidden while no live workflow can run it. */
export function ChangeAction({ image, isBusy, onJob, start }: ActionProps & { readonly start: ChangeStart }) {
  const t = useTranslations("edit");
  const submit = useSubmit(onJob);
  const [text, setText] = useState(start.prompt);
  const reference = useReference(start.referenceId);
  const workflows = useWorkflows("edit");
  const takesReference = findForPrompt(workflows, ["image", "reference"]) !== undefined;
  const workflow = findForPrompt(workflows, reference.imageId === null ? ["image"] : ["image", "reference"]);
  if (workflow === undefined && !takesReference) return null;
  const prompt = text.trim();
  const change = () =>
    submit.mutate({
      request: {
        kind: "edit",
        ...(workflow === undefined ? {} : choiceOf(workflow)),
        params: { prompt },
        inputs: { image: image.id, ...(reference.imageId === null ? {} : { reference: reference.imageId }) },
      },
      shown: agreedToChoice(workflow),
    });
  return (
    <ActionRow hint={workflow ? (placeOf(workflow) ?? workflow.title) : t("referenceNeeded")}>
      <PromptField label={t("changePrompt")} hint={t("changePromptHint")} value={text} onChange={setText} />
      {takesReference ? <Reference {...reference} /> : null}
      <Button
        disabled={
          isBusy || submit.isPending || reference.isUploading || prompt === "" || workflow === undefined
        }
        onClick={change}
      >
        <Wand aria-hidden />
        {t("change")}
      </Button>
    </ActionRow>
  );
}
