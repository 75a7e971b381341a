"use client";
import { Eye, SlidersHorizontal } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { adjustmentLimit, type Adjustments, adjustments, isNeutral, neutral } from "@atelier/server/retouch";
import { Button, Kbd } from "../../ui/button.tsx";
import { heldOriginal, useHeldOriginal } from "../held-original.ts";
import { ModeAction, ModeHint, type ModeProps, settingsOf } from "./parts.tsx";
import { adjustRequest } from "./requests.ts";
import { SettingSlider } from "./setting-slider.tsx";
import { StepButtons } from "./steps.tsx";

/** Held, it shows the picture as it is; the key does the same. */
function BeforeButton() {
  const t = useTranslations("edit.modes.adjust");
  const isHeld = useHeldOriginal();
  const release = () => heldOriginal.set(false);
  return (
    <Button
      look="quiet"
      size="small"
      aria-pressed={isHeld}
      aria-keyshortcuts="\"
      className="touch-none select-none"
      onPointerDown={() => heldOriginal.set(true)}
      onPointerUp={release}
      onPointerLeave={release}
      onPointerCancel={release}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={({ key }) => {
        if (key === " " || key === "Enter") heldOriginal.set(true);
      }}
      onKeyUp={release}
      onBlur={release}
    >
      <Eye aria-hidden />
      {t("before")}
      <span className="hidden sm:pointer-fine:inline">
        <Kbd keys="\" />
      </span>
    </Button>
  );
}

interface AdjustSlidersProps {
  readonly settings: Adjustments;
  /** `isBegun` with the first change of a drag or of a key. */
  readonly onChange: (changes: Partial<Adjustments>, isBegun: boolean) => void;
}

export function AdjustSliders({ settings, onChange }: AdjustSlidersProps) {
  const t = useTranslations("edit.modes.adjust");
  const format = useFormatter();
  return (
    <div className="grid gap-x-8 gap-y-2 max-wide:sm:grid-cols-2">
      {adjustments.map((name) => (
        <SettingSlider
          key={name}
          label={t(`names.${name}`)}
          value={settings[name]}
          min={-adjustmentLimit}
          max={adjustmentLimit}
          onChange={(value, isBegun) => onChange({ [name]: value }, isBegun)}
        >
          {format.number(settings[name], { signDisplay: "exceptZero" })}
        </SettingSlider>
      ))}
    </div>
  );
}

/** Adjust: light, contrast and colours of the whole picture, shown on the stage as they will be. */
export function AdjustMode({ image, session, modes, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit.modes.adjust");
  const [settings] = settingsOf(modes, "adjust");
  const isUnchanged = isNeutral(settings);
  return (
    <>
      <ModeHint mode="adjust" />
      <AdjustSliders
        settings={settings}
        onChange={(changes, isBegun) => modes.step("adjust", changes, isBegun)}
      />
      <div className="-ms-2.5 self-start">
        <BeforeButton />
      </div>
      <StepButtons
        modes={modes}
        mode="adjust"
        isChanged={!isUnchanged}
        onReset={() => modes.step("adjust", neutral)}
      />
      <ModeAction
        icon={<SlidersHorizontal aria-hidden />}
        label={t("apply")}
        obstacle={isUnchanged ? t("missing") : null}
        quoted={isUnchanged ? null : adjustRequest(image.id)}
        makeRequest={() => adjustRequest(image.id, settings)}
        spent={session.history.marks}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}
