"use client";
import {
  Crop,
  Eraser,
  Expand,
  History,
  ImageOff,
  type LucideIcon,
  PaintbrushVertical,
  SlidersHorizontal,
  Sparkles,
  Wand,
} from "lucide-react";
import { useTranslations } from "next-intl";
import type { ComponentType } from "react";
import { OwnOnlyChoice } from "../../parts/own-only.tsx";
import { Radio, RadioGroup } from "../../ui/radio.tsx";
import { useFailureToast } from "../../ui/failures.ts";
import { later, useFirstSign } from "../../ui/later.tsx";
import { useCentred } from "../../ui/scrolling.ts";
import { ChangeMode } from "./change.tsx";
import { RemoveMode, ReplaceMode } from "./inpaint.tsx";
import type { ModeId } from "./mode-settings.ts";
import type { ModeSession } from "./mode-state.ts";
import type { ModeProps } from "./parts.tsx";
import { RestoreMode } from "./restore.tsx";

const AdjustBody = later(async () => (await import("./adjust.tsx")).AdjustMode);
const BackgroundBody = later(async () => (await import("./background.tsx")).BackgroundMode);
const CropBody = later(async () => (await import("./crop.tsx")).CropMode);
const EnhanceBody = later(async () => (await import("./enhance.tsx")).EnhanceMode);
const ExpandBody = later(async () => (await import("./expand.tsx")).ExpandMode);

/** With the first sign of a person the code of all modes is loaded, before one can be chosen. */
function loadModes(): void {
  for (const { preload } of [AdjustBody, BackgroundBody, CropBody, EnhanceBody, ExpandBody]) preload();
}

function loaded(Body: typeof CropBody): ComponentType<ModeProps> {
  return function Loaded(props) {
    return <Body isWanted onFailure={useFailureToast()} props={props} />;
  };
}

interface Mode {
  readonly icon: LucideIcon;
  /** Its options and its one primary button. */
  readonly Body: ComponentType<ModeProps>;
}

/**
 * What can be done with the picture, in the order of the picker. A mode is a file with a body, its settings in
 * mode-settings.ts, a line here, and its words under `edit.modes`.
 */
const modes: Readonly<Record<ModeId, Mode>> = {
  remove: { icon: Eraser, Body: RemoveMode },
  replace: { icon: PaintbrushVertical, Body: ReplaceMode },
  change: { icon: Wand, Body: ChangeMode },
  expand: { icon: Expand, Body: loaded(ExpandBody) },
  background: { icon: ImageOff, Body: loaded(BackgroundBody) },
  restore: { icon: History, Body: RestoreMode },
  enhance: { icon: Sparkles, Body: loaded(EnhanceBody) },
  adjust: { icon: SlidersHorizontal, Body: loaded(AdjustBody) },
  crop: { icon: Crop, Body: loaded(CropBody) },
};

// Safe cast: the keys of a record of modes.
const modeIds = Object.keys(modes) as ModeId[];

function ModePicker({ state, choose }: ModeSession) {
  const t = useTranslations("edit.modes");
  const strip = useCentred<HTMLDivElement>("[aria-checked=true]", state.mode);
  return (
    <RadioGroup
      ref={strip}
      aria-label={t("title")}
      value={state.mode}
      onValueChange={(next) => choose(next as ModeId)}
      className="grid shrink-0 grid-cols-[1fr_auto_1fr] gap-1 max-wide:no-scrollbar max-wide:-mx-4 max-wide:flex max-wide:overflow-x-auto max-wide:px-4"
    >
      {modeIds.map((id) => {
        const { icon: Icon } = modes[id];
        return (
          <Radio
            key={id}
            value={id}
            className="flex h-14 min-w-0 shrink-0 cursor-pointer flex-col items-center justify-center gap-1 rounded-control px-1.5 text-xs text-quiet ring-1 ring-transparent transition-colors duration-120 ring-inset hover:bg-hover hover:text-ink aria-checked:bg-checked aria-checked:text-ink aria-checked:ring-edge max-wide:min-w-18 [&_svg]:size-4"
          >
            <Icon aria-hidden />
            {t(`${id}.name`)}
          </Radio>
        );
      })}
    </RadioGroup>
  );
}

/** The picker of modes, then the options of the chosen one and its one primary button. */
export function Modes(props: ModeProps) {
  const t = useTranslations("edit.modes");
  const { mode } = props.modes.state;
  const { Body } = modes[mode];
  useFirstSign(loadModes);
  return (
    <>
      <ModePicker {...props.modes} />
      <section key={mode} aria-label={t(`${mode}.name`)} className="flex flex-col gap-3">
        <Body {...props} />
      </section>
      <OwnOnlyChoice />
    </>
  );
}
