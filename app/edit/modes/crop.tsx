"use client";
import { Crop, CaretsToAxisDashedVertical, RotateCcw, RotateCw } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { useCallback, useEffect, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { mostAngle } from "@atelier/server/retouch";
import { remixHref } from "../../client/remix.ts";
import { useSourceImage } from "../../client/source.ts";
import { isTyping } from "../../parts/run-button.tsx";
import { Button, buttonStyle, IconButton } from "../../ui/button.tsx";
import { frameHelpId } from "../crop/crop-stage.tsx";
import {
  changesPicture,
  type CropSettings,
  mirrored,
  noCrop,
  reshaped,
  settle,
  toParams,
  turned,
} from "../crop/frame.ts";
import type { Shape } from "../frame/rect.ts";
import { newModes } from "./mode-settings.ts";
import { ModeAction, ModeHint, type ModeProps, settingsOf } from "./parts.tsx";
import { SettingSlider } from "./setting-slider.tsx";
import { RatioChoice, TallButton } from "./shape-choice.tsx";
import { StepButtons } from "./steps.tsx";

interface TurnsProps {
  readonly settings: CropSettings;
  readonly onReshape: (shape: Shape) => void;
  readonly onChange: (settings: CropSettings) => void;
}

function Turns({ settings, onReshape, onChange }: TurnsProps) {
  const t = useTranslations("edit.crop");
  return (
    <div className="-mx-1.5 flex items-center">
      <IconButton label={t("turnLeft")} onClick={() => onChange(turned(turned(turned(settings))))}>
        <RotateCcw aria-hidden />
      </IconButton>
      <IconButton label={t("turnRight")} onClick={() => onChange(turned(settings))}>
        <RotateCw aria-hidden />
      </IconButton>
      <IconButton label={t("mirror")} pressed={settings.mirror} onClick={() => onChange(mirrored(settings))}>
        <CaretsToAxisDashedVertical aria-hidden />
      </IconButton>
      <TallButton shape={settings} onReshape={onReshape} />
    </div>
  );
}

/** Whether a key belongs to the crop: not to a field or a button, nor to versions or candidates that are looked at. */
function isOfCrop(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey) return false;
  if (document.getElementById(frameHelpId) === null) return false;
  return !isTyping(event);
}

const isOnButton = ({ target }: KeyboardEvent) =>
  target instanceof Element && target.closest("button, a") !== null;

/** Enter applies and Escape leaves. */
function useCropKeys(applyButton: () => HTMLButtonElement | null, onLeave: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (!isOfCrop(event)) return;
      if (event.key === "Escape") onLeave();
      else if (event.key === "Enter" && !isOnButton(event)) applyButton()?.click();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [applyButton, onLeave]);
}

/** The crop by which the picture was made, opened again on the picture that it was cut from. */
function Reopen({ image }: { readonly image: ImageView }) {
  const t = useTranslations("edit.crop");
  const { job } = useSourceImage(image);
  const href = job?.kind === "crop" ? remixHref(image.id, job) : null;
  if (href === null) return null;
  return (
    <Link href={href} className={buttonStyle("plain", "small")}>
      {t("reopen")}
    </Link>
  );
}

/** Crop: a part of the picture, which may be turned, mirrored and straightened. The picture itself stays as it is. */
export function CropMode({ image, session, modes, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit.crop");
  const format = useFormatter();
  const [given] = settingsOf(modes, "crop");
  const size = { width: image.widthPx, height: image.heightPx };
  const settings = settle(size, given);
  const { rect } = toParams(size, settings);
  const isChanged = changesPicture(size, settings);
  const inputs = { image: image.id };
  const action = useRef<HTMLDivElement>(null);
  const { change: set, choose } = modes;
  const leave = useCallback(() => {
    set("crop", noCrop);
    choose(newModes.mode);
  }, [choose, set]);
  const applyButton = useCallback(() => action.current?.querySelector("button") ?? null, []);
  useCropKeys(applyButton, leave);
  const step = (next: CropSettings) => modes.step("crop", next);
  const reshape = (shape: Shape) => step(reshaped(size, settings, shape));
  return (
    <>
      <ModeHint mode="crop" />
      <Reopen image={image} />
      <RatioChoice shape={settings} onReshape={reshape} />
      <Turns settings={settings} onReshape={reshape} onChange={step} />
      <SettingSlider
        label={t("straighten")}
        value={settings.angle}
        min={-mostAngle}
        max={mostAngle}
        step={0.1}
        onChange={(angle, isBegun) =>
          modes.step("crop", { ...settings, angle: Math.round(angle * 10) / 10 }, isBegun)
        }
      >
        {`${format.number(settings.angle, { signDisplay: "exceptZero", minimumFractionDigits: 1 })}°`}
      </SettingSlider>
      <StepButtons
        modes={modes}
        mode="crop"
        isChanged={isChanged || settings.ratio !== "free"}
        onReset={() => step(noCrop)}
      />
      <p className="tabular text-xs text-quiet">{t("size", rect)}</p>
      <div ref={action} className="contents">
        <ModeAction
          icon={<Crop aria-hidden />}
          label={t("apply")}
          obstacle={isChanged ? null : t("missing")}
          quoted={isChanged ? { kind: "crop", inputs } : null}
          makeRequest={() => ({ kind: "crop", inputs, params: toParams(size, settings) })}
          spent={session.history.marks}
          isBusy={isBusy}
          onJob={onJob}
        />
      </div>
      <Button look="quiet" size="small" onClick={leave}>
        {t("leave")}
      </Button>
    </>
  );
}
