"use client";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import {
  Crop,
  CaretsToAxisDashedVertical,
  RectangleHorizontal,
  RectangleVertical,
  RotateCcw,
  RotateCw,
} from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import Link from "next/link";
import { useCallback, useEffect, useRef } from "react";
import type { ImageView } from "@atelier/server/images";
import { mostAngle } from "@atelier/server/retouch";
import { remixHref } from "../../client/remix.ts";
import { isTyping } from "../../frame/run-button.tsx";
import { useSourceImage } from "../../gallery/viewer/info.tsx";
import { Button, buttonStyle, IconButton } from "../../ui/button.tsx";
import { frameHelpId } from "../crop/crop-stage.tsx";
import {
  changesPicture,
  type CropSettings,
  mirrored,
  noCrop,
  type RatioName,
  ratios,
  reshaped,
  settle,
  toParams,
  turned,
} from "../crop/frame.ts";
import { newModes } from "./mode-state.ts";
import { ModeAction, ModeHint, type ModeProps, settingsOf } from "./parts.tsx";
import { SettingSlider } from "./setting-slider.tsx";

// Safe cast: the keys of a record of ratios.
const ratioNames = Object.keys(ratios) as RatioName[];

/** `4:5` of the preset `5:4` that is turned. */
function shownRatio(name: RatioName, isTall: boolean): string {
  return isTall ? name.split(":").toReversed().join(":") : name;
}

interface ChoiceProps {
  readonly settings: CropSettings;
  readonly onReshape: (shape: Pick<CropSettings, "ratio" | "isTall">) => void;
}

function RatioChoice({ settings: { ratio, isTall }, onReshape }: ChoiceProps) {
  const t = useTranslations("edit.crop");
  const names: Partial<Record<RatioName, string>> = { free: t("free"), original: t("original") };
  return (
    <RadioGroup
      aria-label={t("ratio")}
      value={ratio}
      onValueChange={(next) => onReshape({ ratio: next as RatioName, isTall })}
      className="grid grid-cols-4 gap-1"
    >
      {ratioNames.map((name) => (
        <Radio.Root
          key={name}
          value={name}
          className="tabular flex h-8 min-w-0 cursor-pointer items-center justify-center rounded-control px-1 text-xs text-quiet ring-1 ring-line transition-colors duration-120 ring-inset hover:bg-hover hover:text-ink data-checked:bg-checked data-checked:text-ink data-checked:ring-edge"
        >
          {names[name] ?? shownRatio(name, isTall)}
        </Radio.Root>
      ))}
    </RadioGroup>
  );
}

interface TurnsProps extends ChoiceProps {
  readonly isChanged: boolean;
  readonly onChange: (settings: CropSettings) => void;
}

function Turns({ settings, isChanged, onReshape, onChange }: TurnsProps) {
  const t = useTranslations("edit.crop");
  const { ratio, isTall } = settings;
  const isShaped = ratio !== "free" && ratio !== "original" && ratio !== "1:1";
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
      <IconButton
        label={t(isTall ? "wide" : "tall")}
        disabled={!isShaped}
        onClick={() => onReshape({ ratio, isTall: !isTall })}
      >
        {isTall ? <RectangleHorizontal aria-hidden /> : <RectangleVertical aria-hidden />}
      </IconButton>
      <span className="flex-1" />
      <Button
        look="quiet"
        size="small"
        disabled={!isChanged && ratio === "free"}
        onClick={() => onChange(noCrop)}
      >
        {t("reset")}
      </Button>
    </div>
  );
}

/** Whether a key belongs to the crop: not to a field or a button, nor to versions or candidates that are looked at. */
function isOfCrop(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey) return false;
  if (document.getElementById(frameHelpId) === null) return false;
  const { target } = event;
  const isSlider = target instanceof HTMLInputElement && target.type === "range";
  return isSlider || !isTyping(event);
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
  const [given, change] = settingsOf(modes, "crop");
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
  const reshape = (shape: Pick<CropSettings, "ratio" | "isTall">) => change(reshaped(size, settings, shape));
  return (
    <>
      <ModeHint mode="crop" />
      <Reopen image={image} />
      <RatioChoice settings={settings} onReshape={reshape} />
      <Turns settings={settings} isChanged={isChanged} onReshape={reshape} onChange={change} />
      <SettingSlider
        label={t("straighten")}
        value={settings.angle}
        min={-mostAngle}
        max={mostAngle}
        step={0.1}
        onChange={(angle) => change({ ...settings, angle: Math.round(angle * 10) / 10 })}
      >
        {`${format.number(settings.angle, { signDisplay: "exceptZero", minimumFractionDigits: 1 })}°`}
      </SettingSlider>
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
