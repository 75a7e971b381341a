"use client";
import { ImageIcon, PaintBucket, Scissors, Wand } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { useCapability } from "../../client/queries.ts";
import { ChoiceGrid } from "../../ui/choice-grid.tsx";
import type { Mark } from "../mask/marks.ts";
import { requestSelection } from "../tools/request-selection.ts";
import { ColourChoice, PictureChoice } from "./ground-choice.tsx";
import { useMask } from "./inpaint.tsx";
import { grounds } from "./mode-settings.ts";
import {
  ModeAction,
  ModeHint,
  type ModeProps,
  paintsBy,
  PromptField,
  RunChoice,
  settingsOf,
  takesPictures,
  useRun,
} from "./parts.tsx";
import { groundRequest } from "./requests.ts";
import { usePictureUploads } from "../../pictures/picture-input.tsx";

/** Transparent, a colour or a picture: what stands out is cut out, and laid on it. */
function SetGround({ image, session, modes, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit");
  const [settings, change] = settingsOf(modes, "background");
  const { change: changeOf } = modes;
  const onStored = useCallback(
    (id: string) => changeOf("background", { pictureId: id, position: 0.5 }),
    [changeOf],
  );
  const { isUploading, upload } = usePictureUploads({ most: 1, onStored });
  const capability = useCapability("remove_background");
  const isOff = capability?.available === false;
  const { what, colour, pictureId } = settings;
  const isPicture = what === "picture";
  const run = useRun({
    modes,
    mode: "background",
    kind: "remove_background",
    fits: (workflow) => takesPictures(workflow, ["image"]),
    automatic: "server",
  });
  // A colour and a picture are laid behind on this computer.
  const isPlain = what === "transparent";
  const request = { ...groundRequest(image.id, settings), ...(isPlain ? run.choice : {}) };
  const obstacle = () => {
    if (isOff) return capability.reason ?? t("modes.none");
    if (!isPicture) return null;
    if (isUploading) return t("background.sending");
    return pictureId === null ? t("background.pictureMissing") : null;
  };
  const actions = {
    transparent: { icon: <Scissors aria-hidden />, label: t("cutOut") },
    colour: { icon: <PaintBucket aria-hidden />, label: t("background.setColour") },
    picture: { icon: <ImageIcon aria-hidden />, label: t("background.setPicture") },
  };
  const { icon, label } = actions[what === "prompt" ? "transparent" : what];
  return (
    <>
      {what === "colour" ? (
        <ColourChoice colour={colour} onChange={(next) => change({ colour: next })} />
      ) : null}
      {isPicture ? (
        <PictureChoice
          image={image}
          settings={settings}
          change={change}
          isUploading={isUploading}
          upload={upload}
        />
      ) : null}
      {isPlain ? <RunChoice run={run} image={image} quoted={request} /> : null}
      <ModeAction
        icon={icon}
        label={label}
        obstacle={obstacle()}
        quoted={obstacle() === null ? request : null}
        makeRequest={() => request}
        spent={session.history.marks}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}

/** Selects what stands out in a picture, once, and everything else with it reversed. Throws what a selection throws. */
function useGroundMask(image: ImageView) {
  const mask = useMask(image);
  const found = useRef<{ readonly imageId: string; readonly marks: readonly Mark[] } | null>(null);
  const make = async (): Promise<string> => {
    if (found.current?.imageId !== image.id) {
      const subject = await requestSelection(image, { subject: true }, new AbortController().signal);
      if (subject === null) throw Object.assign(new Error("It was cancelled."), { code: "mask_empty" });
      found.current = { imageId: image.id, marks: [subject, { mode: "invert" }] };
    }
    return mask.send(found.current.marks);
  };
  return { make, settle: mask.settle };
}

/** By a prompt: everything but what stands out is repainted; the subject stays pixel by pixel. */
function PaintGround({ image, session, modes, isBusy, onJob, candidates }: ModeProps) {
  const t = useTranslations("edit");
  const [settings, change] = settingsOf(modes, "background");
  const mask = useGroundMask(image);
  const run = useRun({
    modes,
    mode: "background",
    kind: "inpaint",
    fits: (workflow) => paintsBy(workflow, ["image", "mask"]),
    automatic: "best",
  });
  const canSelect = useCapability("segment")?.means.includes("subject");
  const prompt = settings.prompt.trim();
  const base = { kind: "inpaint", ...run.choice, params: { prompt, ...run.params } } as const;
  const quoted = { ...base, inputs: { image: image.id, mask: image.id } };
  const obstacle = () => {
    if (run.used === undefined) return t("modes.replace.none");
    if (canSelect === false) return t("background.noSubject");
    return prompt === "" ? t("modes.promptMissing") : null;
  };
  const isPossible = obstacle() === null;
  return (
    <>
      <PromptField
        label={t("background.prompt")}
        hint={t("background.promptHint")}
        value={settings.prompt}
        onChange={(text) => change({ prompt: text })}
      />
      <RunChoice run={run} image={image} count={candidates.count} quoted={quoted} />
      <ModeAction
        icon={<Wand aria-hidden />}
        label={t("background.paint")}
        obstacle={obstacle()}
        quoted={isPossible ? quoted : null}
        makeRequest={async () => ({ ...base, inputs: { image: image.id, mask: await mask.make() } })}
        onSettled={mask.settle}
        candidates={candidates}
        seeds={run.used?.params.seed}
        spent={session.history.marks}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}

/** Background: what stands out stays; the rest becomes transparent, a colour, a picture, or what a prompt says. */
export function BackgroundMode(props: ModeProps) {
  const t = useTranslations("edit.background");
  const [{ what }, change] = settingsOf(props.modes, "background");
  return (
    <>
      <ModeHint mode="background" />
      <ChoiceGrid
        label={t("what")}
        value={what}
        options={grounds.map((ground) => ({ value: ground, label: t(`grounds.${ground}`) }))}
        className="grid-cols-2 sm:max-wide:grid-cols-4"
        onChange={(next) => change({ what: next })}
      />
      {what === "prompt" ? <PaintGround {...props} /> : <SetGround {...props} />}
    </>
  );
}
