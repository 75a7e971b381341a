"use client";
import { Maximize2, ScanFace } from "lucide-react";
import { useTranslations } from "next-intl";
import { useWorkflows } from "../../client/cloud.ts";
import { useCapability } from "../../client/queries.ts";
import { useUpscaleOffer } from "../../pictures/quick-actions.tsx";
import { Segmented } from "../../ui/fields.tsx";
import type { ModeSettings } from "./mode-settings.ts";
import {
  findForScale,
  ModeAction,
  ModeHint,
  type ModeProps,
  RunChoice,
  settingsOf,
  takesPictures,
  upscalesBy,
  useRun,
} from "./parts.tsx";
import { facesRequest, upscaleRequest } from "./requests.ts";

type EnhanceSettings = ModeSettings["enhance"];

interface EnhanceChoiceProps {
  readonly what: EnhanceSettings["what"];
  readonly onChange: (what: EnhanceSettings["what"]) => void;
}

/** More pixels, or faces. */
export function EnhanceChoice({ what, onChange }: EnhanceChoiceProps) {
  const t = useTranslations("edit.modes.enhance");
  return (
    <Segmented
      label={t("what")}
      value={what}
      onChange={onChange}
      options={[
        { value: "upscale", label: t("upscale") },
        { value: "faces", label: t("faces") },
      ]}
    />
  );
}

interface ScaleChoiceProps {
  readonly scale: EnhanceSettings["scale"];
  readonly onChange: (scale: EnhanceSettings["scale"]) => void;
}

export function ScaleChoice({ scale, onChange }: ScaleChoiceProps) {
  const t = useTranslations("edit");
  return (
    <Segmented
      label={t("upscaleBy")}
      value={String(scale)}
      onChange={(next) => onChange(next === "4" ? 4 : 2)}
      options={[
        { value: "2", label: "×2" },
        { value: "4", label: "×4" },
      ]}
    />
  );
}

/** Whether a live engine can upscale by 4. `workflow` is the ComfyUI workflow to use; undefined: the server chooses. */
export function useUpscaleByFour() {
  const workflow = findForScale(useWorkflows("upscale"), 4);
  const hasIopaint = useCapability("upscale")?.engines.includes("iopaint") ?? false;
  return { isPossible: hasIopaint || workflow !== undefined, workflow };
}

/** Upscale by 2, or by 4 while a live engine can. */
function Upscale({ image, session, modes, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit");
  const [settings, change] = settingsOf(modes, "enhance");
  const byFour = useUpscaleByFour();
  const scale = byFour.isPossible ? settings.scale : 2;
  const offer = useUpscaleOffer(image, scale);
  const run = useRun({
    modes,
    mode: "enhance",
    kind: "upscale",
    fits: (workflow) =>
      takesPictures(workflow, ["image"]) &&
      upscalesBy(workflow, scale) &&
      workflow.params.prompt?.required !== true,
    automatic: "server",
  });
  const base = upscaleRequest(image.id, scale, run.used ?? (scale === 4 ? byFour.workflow : undefined));
  const request = { ...base, params: { ...base.params, ...run.params } };
  return (
    <>
      <div className="flex min-h-9 items-center justify-between gap-2">
        <p className="tabular text-xs text-quiet">{t("upscaleTo", { size: offer.size })}</p>
        {byFour.isPossible ? (
          <ScaleChoice scale={scale} onChange={(next) => change({ scale: next })} />
        ) : null}
      </div>
      <RunChoice run={run} image={image} quoted={request} />
      <ModeAction
        icon={<Maximize2 aria-hidden />}
        label={t("upscale", { scale })}
        obstacle={offer.isPossible ? null : offer.reason}
        quoted={offer.isPossible ? request : null}
        makeRequest={() => request}
        spent={session.history.marks}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}

function RestoreFaces({ image, session, modes, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit");
  const capability = useCapability("restore_faces");
  const run = useRun({
    modes,
    mode: "enhance",
    kind: "restore_faces",
    fits: (workflow) => takesPictures(workflow, ["image"]),
    automatic: "server",
  });
  const request = { ...facesRequest(image.id), ...run.choice };
  const isOff = capability?.available !== true;
  return (
    <>
      <p className="text-xs text-quiet">{t("restoreFacesHint")}</p>
      <RunChoice run={run} image={image} quoted={request} />
      <ModeAction
        icon={<ScanFace aria-hidden />}
        label={t("restoreFaces")}
        obstacle={isOff ? (capability?.reason ?? t("modes.enhance.noFaces")) : null}
        quoted={isOff ? null : request}
        makeRequest={() => request}
        spent={session.history.marks}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}

/** Enhance: more pixels, or faces that are blurred or damaged. */
export function EnhanceMode(props: ModeProps) {
  const [{ what }, change] = settingsOf(props.modes, "enhance");
  return (
    <>
      <ModeHint mode="enhance" />
      <EnhanceChoice what={what} onChange={(next) => change({ what: next })} />
      {what === "upscale" ? <Upscale {...props} /> : <RestoreFaces {...props} />}
    </>
  );
}
