"use client";
import { Expand } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useCapability } from "../../client/queries.ts";
import { NumberInput } from "../../ui/number-input.tsx";
import { useGround } from "../expand/expand-stage.tsx";
import {
  brokenLimit,
  type Expansion,
  expansionOf,
  type Ground,
  grownSize,
  isGrown,
  type Margins,
  marginsOf,
  noExpansion,
  reachedLimit,
  reshaped,
  type Side,
  sides,
  withSide,
} from "../expand/frame.ts";
import type { Shape } from "../frame/rect.ts";
import {
  ModeAction,
  ModeHint,
  type ModeProps,
  PromptField,
  RunChoice,
  settingsOf,
  takesPictures,
  useRun,
} from "./parts.tsx";
import { RatioChoice, TallButton } from "./shape-choice.tsx";
import { StepButtons } from "./steps.tsx";

const sideStepPx = 8;

interface SidesProps {
  readonly margins: Margins;
  readonly onChange: (side: Side, px: number) => void;
}

/** By how much each side grows, as numbers. */
function Sides({ margins, onChange }: SidesProps) {
  const t = useTranslations("edit.expand");
  return (
    <div role="group" aria-label={t("sides")} className="grid grid-cols-2 gap-2">
      {sides.map((side) => (
        <div key={side} className="flex items-center gap-2 text-xs text-quiet">
          <span aria-hidden className="w-12 shrink-0">
            {t(`side.${side}`)}
          </span>
          <NumberInput
            label={t("sideLabel", { side: t(`side.${side}`) })}
            value={margins[side]}
            step={sideStepPx}
            onChange={(px) => onChange(side, px)}
            className="min-w-0"
          />
        </div>
      ))}
    </div>
  );
}

/** Sentences for the limits of size: of one that is broken, or of one that is reached. */
function useLimitText({ sidePx, pixels, size }: Ground, margins: Margins) {
  const t = useTranslations("edit.expand");
  const format = useFormatter();
  const { width, height } = grownSize(size, margins);
  const megapixels = (count: number) => format.number(count / 1_000_000, { maximumFractionDigits: 1 });
  const values = { sidePx, megapixels: megapixels(width * height), most: megapixels(pixels) };
  return (limit: "sidePx" | "pixels", how: "broken" | "reached") => t(`${how}.${limit}`, values);
}

function useExpandRun(modes: ModeProps["modes"]) {
  const run = useRun({
    modes,
    mode: "expand",
    kind: "expand",
    fits: (workflow) => takesPictures(workflow, ["image"]),
    automatic: "settings",
  });
  const makers = run.chosen === undefined ? run.options : [run.chosen];
  // Without a live engine the job may wait for one that does.
  const takesPrompt = makers.length === 0 || makers.some(({ params }) => params.prompt !== undefined);
  return { run, takesPrompt };
}

/** Expand: the picture grows beyond its sides, filled with what continues it or with what the prompt says. */
export function ExpandMode({ image, session, modes, isBusy, onJob, candidates }: ModeProps) {
  const t = useTranslations("edit.expand");
  const [settings, change] = settingsOf(modes, "expand");
  const capability = useCapability("expand");
  const { run, takesPrompt } = useExpandRun(modes);
  const ground = useGround(image);
  const limitText = useLimitText(ground, settings);
  const frame = expansionOf(settings);
  const step = (next: Expansion) => modes.step("expand", next);
  const reshape = (shape: Shape) => step(reshaped(ground.size, frame, shape));
  const prompt = takesPrompt ? settings.prompt.trim() : "";
  const isOff = capability?.available === false;
  const broken = brokenLimit(ground, settings);
  const reached = broken === null ? reachedLimit(ground, settings) : null;
  const request = {
    kind: "expand",
    params: { ...marginsOf(settings), ...(prompt === "" ? {} : { prompt }), ...run.params },
    inputs: { image: image.id },
    ...run.choice,
  } as const;
  const obstacle = () => {
    if (isOff) return capability.reason ?? t("none");
    if (broken !== null) return limitText(broken, "broken");
    return isGrown(settings) ? null : t("missing");
  };
  const isPossible = obstacle() === null;
  return (
    <>
      <ModeHint mode="expand" />
      <RatioChoice shape={frame} onReshape={reshape} />
      <Sides margins={settings} onChange={(side, px) => step(withSide(frame, side, px))} />
      <p className="tabular text-xs text-quiet">{t("size", { ...grownSize(ground.size, settings) })}</p>
      {reached === null ? null : <p className="text-xs text-quiet">{limitText(reached, "reached")}</p>}
      <StepButtons
        modes={modes}
        mode="expand"
        isChanged={isGrown(settings) || settings.ratio !== "free"}
        onReset={() => step(noExpansion)}
      >
        <TallButton shape={frame} onReshape={reshape} />
      </StepButtons>
      {takesPrompt ? (
        <PromptField
          label={t("prompt")}
          hint={t("promptHint")}
          value={settings.prompt}
          onChange={(text) => change({ prompt: text })}
        />
      ) : (
        <p className="text-xs text-quiet">{t("noPrompt")}</p>
      )}
      <RunChoice run={run} image={image} count={candidates.count} quoted={isPossible ? request : null} />
      <ModeAction
        icon={<Expand aria-hidden />}
        label={t("apply")}
        obstacle={obstacle()}
        quoted={isPossible ? request : null}
        makeRequest={() => request}
        candidates={candidates}
        seeds={run.used?.params.seed}
        spent={session.history.marks}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}
