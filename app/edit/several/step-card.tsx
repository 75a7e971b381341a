"use client";
import { ArrowUp, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageUrl } from "../../client/urls.ts";
import { usePictureUploads } from "../../pictures/picture-input.tsx";
import { IconButton } from "../../ui/button.tsx";
import { ChoiceGrid } from "../../ui/choice-grid.tsx";
import { AdjustLayer } from "../adjust/preview-layer.tsx";
import { AdjustSliders } from "../modes/adjust.tsx";
import { EnhanceChoice, ScaleChoice } from "../modes/enhance.tsx";
import { ColourChoice, PictureChoice } from "../modes/ground-choice.tsx";
import { type BackgroundSettings, grounds } from "../modes/mode-settings.ts";
import { PromptField } from "../modes/parts.tsx";
import type { Step } from "./recipe.ts";

type StepFor<Mode extends Step["mode"]> = Extract<Step, { readonly mode: Mode }>;

interface FieldsProps<Mode extends Step["mode"]> {
  readonly settings: StepFor<Mode>["settings"];
  readonly onChange: (settings: StepFor<Mode>["settings"]) => void;
  /** The first of the pictures, which shows what the settings do; undefined until it is known. */
  readonly sample: ImageView | undefined;
}

const laid = grounds.filter((ground) => ground !== "prompt");

function BackgroundFields({ settings, onChange, sample }: FieldsProps<"background">) {
  const t = useTranslations("edit.background");
  const change = useCallback(
    (changes: Partial<BackgroundSettings>) => onChange({ ...settings, ...changes }),
    [onChange, settings],
  );
  const onStored = useCallback((id: string) => change({ pictureId: id, position: 0.5 }), [change]);
  const { isUploading, upload } = usePictureUploads({ most: 1, onStored });
  return (
    <>
      <ChoiceGrid
        label={t("what")}
        value={settings.what}
        options={laid.map((ground) => ({ value: ground, label: t(`grounds.${ground}`) }))}
        className="grid-cols-3"
        onChange={(what) => change({ what })}
      />
      {settings.what === "colour" ? (
        <ColourChoice colour={settings.colour} onChange={(colour) => change({ colour })} />
      ) : null}
      {settings.what === "picture" && sample !== undefined ? (
        <PictureChoice
          image={sample}
          settings={settings}
          change={change}
          isUploading={isUploading}
          upload={upload}
        />
      ) : null}
    </>
  );
}

function ChangeFields({ settings, onChange }: FieldsProps<"change">) {
  const t = useTranslations("edit");
  return (
    <PromptField
      label={t("changePrompt")}
      hint={t("changePromptHint")}
      value={settings.prompt}
      onChange={(prompt) => onChange({ ...settings, prompt })}
    />
  );
}

interface EnhanceFieldsProps extends FieldsProps<"enhance"> {
  readonly canByFour: boolean;
}

function EnhanceFields({ settings, onChange, canByFour }: EnhanceFieldsProps) {
  const { what, scale } = settings;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <EnhanceChoice what={what} onChange={(next) => onChange({ ...settings, what: next })} />
      {what === "upscale" && canByFour ? (
        <ScaleChoice scale={scale} onChange={(next) => onChange({ ...settings, scale: next })} />
      ) : null}
    </div>
  );
}

const sampleSide = 288;

/** The first picture as it would be, in its own px below a scale. */
function AdjustedSample({
  sample,
  settings,
}: Pick<FieldsProps<"adjust">, "settings"> & { readonly sample: ImageView }) {
  const t = useTranslations("several");
  const { widthPx, heightPx } = sample;
  const scale = sampleSide / Math.max(widthPx, heightPx);
  const stage = { width: widthPx * scale, height: heightPx * scale };
  return (
    <div className="relative self-center overflow-hidden rounded-control bg-well" style={stage}>
      <div
        className="absolute top-0 left-0 origin-top-left"
        style={{ width: widthPx, height: heightPx, transform: `scale(${scale})` }}
      >
        <img src={imageUrl(sample.id, "preview")} alt={t("sample")} className="size-full" />
        <AdjustLayer image={sample} adjustments={settings} view={{ scale, x: 0, y: 0 }} stage={stage} />
      </div>
    </div>
  );
}

function AdjustFields({ settings, onChange, sample }: FieldsProps<"adjust">) {
  return (
    <>
      {sample === undefined ? null : <AdjustedSample sample={sample} settings={settings} />}
      <AdjustSliders settings={settings} onChange={(changes) => onChange({ ...settings, ...changes })} />
    </>
  );
}

interface StepCardProps {
  readonly step: Step;
  readonly number: number;
  /** Why it cannot run now, or what is missing; null when nothing is. */
  readonly obstacle: string | null;
  readonly sample: ImageView | undefined;
  readonly canByFour: boolean;
  readonly onChange: (step: Step) => void;
  readonly onRemove: (() => void) | null;
  readonly onUp: (() => void) | null;
}

function Fields({
  step,
  onChange,
  ...others
}: Pick<StepCardProps, "step" | "onChange" | "sample" | "canByFour">) {
  switch (step.mode) {
    case "background":
      return (
        <BackgroundFields
          {...others}
          settings={step.settings}
          onChange={(settings) => onChange({ ...step, settings })}
        />
      );
    case "change":
      return (
        <ChangeFields
          {...others}
          settings={step.settings}
          onChange={(settings) => onChange({ ...step, settings })}
        />
      );
    case "enhance":
      return (
        <EnhanceFields
          {...others}
          settings={step.settings}
          onChange={(settings) => onChange({ ...step, settings })}
        />
      );
    case "adjust":
      return (
        <AdjustFields
          {...others}
          settings={step.settings}
          onChange={(settings) => onChange({ ...step, settings })}
        />
      );
  }
}

/** One step of the recipe with its settings. */
export function StepCard({ step, number, obstacle, onRemove, onUp, ...fields }: StepCardProps) {
  const t = useTranslations("several");
  const name = useTranslations("edit.modes")(`${step.mode}.name`);
  return (
    <li
      aria-label={t("step", { number, name })}
      className="flex flex-col gap-3 rounded-card border border-line bg-surface p-4"
    >
      <div className="flex min-h-8 items-center gap-2">
        <span
          aria-hidden
          className="tabular flex size-6 items-center justify-center rounded-full bg-well text-xs text-quiet"
        >
          {number}
        </span>
        <h3 className="flex-1 text-sm font-medium">{name}</h3>
        {onUp === null ? null : (
          <IconButton label={t("moveUp", { name })} onClick={onUp}>
            <ArrowUp aria-hidden />
          </IconButton>
        )}
        {onRemove === null ? null : (
          <IconButton label={t("removeStep", { name })} onClick={onRemove}>
            <X aria-hidden />
          </IconButton>
        )}
      </div>
      <Fields step={step} {...fields} />
      {obstacle === null ? null : <p className="text-xs text-quiet">{obstacle}</p>}
    </li>
  );
}
