"use client";
import { Maximize2, ScanFace } from "lucide-react";
import { useTranslations } from "next-intl";
import { useWorkflows } from "../../client/cloud.ts";
import { useCapability } from "../../client/queries.ts";
import { choiceOf } from "../../client/submit/job.ts";
import { useUpscaleOffer } from "../../pictures/quick-actions.tsx";
import { Segmented } from "../../ui/fields.tsx";
import { findForScale, ModeAction, ModeHint, type ModeProps, settingsOf } from "./parts.tsx";

/** Whether a live engine can upscale by 4. `workflow` is the ComfyUI workflow to use; undefined: the server chooses. */
function useUpscaleByFour() {
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
  const workflow = scale === 4 ? byFour.workflow : undefined;
  const request = {
    kind: "upscale",
    ...(workflow === undefined ? {} : choiceOf(workflow)),
    params: { scale },
    inputs: { image: image.id },
  } as const;
  return (
    <>
      <div className="flex min-h-9 items-center justify-between gap-2">
        <p className="tabular text-xs text-quiet">{t("upscaleTo", { size: offer.size })}</p>
        {byFour.isPossible ? (
          <Segmented
            label={t("upscaleBy")}
            value={String(scale)}
            onChange={(next) => change({ scale: next === "4" ? 4 : 2 })}
            options={[
              { value: "2", label: "×2" },
              { value: "4", label: "×4" },
            ]}
          />
        ) : null}
      </div>
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

function RestoreFaces({ image, session, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit");
  const capability = useCapability("restore_faces");
  const request = { kind: "restore_faces", inputs: { image: image.id } } as const;
  const isOff = capability?.available !== true;
  return (
    <>
      <p className="text-xs text-quiet">{t("restoreFacesHint")}</p>
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
  const t = useTranslations("edit");
  const [{ what }, change] = settingsOf(props.modes, "enhance");
  return (
    <>
      <ModeHint mode="enhance" />
      <Segmented
        label={t("modes.enhance.what")}
        value={what}
        onChange={(next) => change({ what: next })}
        options={[
          { value: "upscale", label: t("modes.enhance.upscale") },
          { value: "faces", label: t("modes.enhance.faces") },
        ]}
      />
      {what === "upscale" ? <Upscale {...props} /> : <RestoreFaces {...props} />}
    </>
  );
}
