"use client";
import { ArrowUp, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import type { ImageView } from "@atelier/server/images";
import { useWorkflows } from "../../client/cloud.ts";
import { imageUrl } from "../../client/urls.ts";
import { usePictureUploads } from "../../pictures/picture-input.tsx";
import { IconButton } from "../../ui/button.tsx";
import { ChoiceGrid } from "../../ui/choice-grid.tsx";
import { AdjustLayer } from "../adjust/preview-layer.tsx";
import { AdjustSliders } from "../modes/adjust.tsx";
import { fixedRatios, type Shape } from "../frame/rect.ts";
import { mostReferences, ReferenceChoice, withReference } from "../modes/change.tsx";
import { EnhanceChoice, ScaleChoice } from "../modes/enhance.tsx";
import { ColourChoice, PictureChoice } from "../modes/ground-choice.tsx";
import { type BackgroundSettings, grounds } from "../modes/mode-settings.ts";
import { PromptField } from "../modes/parts.tsx";
import { RatioChoice, TallButton } from "../modes/shape-choice.tsx";
import type { Step } from "./recipe.ts";

type StepFor<Mode extends Step["mode"]> = Extract<Step, { readonly mode: Mode }>;

interface FieldsProps<Mode extends Step["mode"]> {
  readonly settings: StepFor<Mode>["settings"];
  readonly onChange: (settings: StepFor<Mode>["settings"]) => void;
  /** The first of the pictures, which shows what the settings do; undefined until it is known. */
  readonly sample: ImageView | undefined;
}

const laid = grounds.filter((ground) => ground !== "prompt");

/** Fields that an upload changes, too, when it ends: what is set meanwhile stays. */
interface UploadFieldsProps<Mode extends Step["mode"]> extends Omit<FieldsProps<Mode>, "onChange"> {
  readonly onUpdate: (update: (now: StepFor<Mode>["settings"]) => StepFor<Mode>["settings"]) => void;
}

function BackgroundFields({ settings, onUpdate, sample }: UploadFieldsProps<"background">) {
  const t = useTranslations("edit.background");
  const change = useCallback(
    (changes: Partial<BackgroundSettings>) => onUpdate((now) => ({ ...now, ...changes })),
    [onUpdate],
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

function ChangeFields({ settings, onUpdate }: Omit<UploadFieldsProps<"change">, "sample">) {
  const t = useTranslations("edit");
  const most = mostReferences(useWorkflows("edit"));
  const { referenceIds: ids } = settings;
  const add = useCallback(
    (id: string) => onUpdate((now) => ({ ...now, referenceIds: withReference(now.referenceIds, id) })),
    [onUpdate],
  );
  const { isUploading, upload } = usePictureUploads({ most: Math.max(0, most - ids.length), onStored: add });
  return (
    <>
      <PromptField
        label={t("changePrompt")}
        hint={t("changePromptHint")}
        value={settings.prompt}
        onChange={(prompt) => onUpdate((now) => ({ ...now, prompt }))}
      />
      {most === 0 && ids.length === 0 ? null : (
        <ReferenceChoice
          ids={ids}
          most={most}
          leftOut={[]}
          isUploading={isUploading}
          upload={upload}
          onAdd={add}
          onRemove={(id) =>
            onUpdate((now) => ({ ...now, referenceIds: now.referenceIds.filter((one) => one !== id) }))
          }
        />
      )}
    </>
  );
}

interface ShapeFieldsProps {
  readonly shape: Shape;
  readonly onReshape: (shape: Shape) => void;
}

/** The shape that all pictures get. */
function ShapeFields(props: ShapeFieldsProps) {
  return (
    <div className="flex flex-col gap-2">
      <RatioChoice {...props} names={fixedRatios} />
      <div className="-mx-1.5 flex">
        <TallButton {...props} />
      </div>
    </div>
  );
}

function GrowFields({ settings, onChange }: Omit<FieldsProps<"expand">, "sample">) {
  const t = useTranslations("edit.expand");
  const workflows = useWorkflows("expand")?.filter(({ isLive }) => isLive);
  // Without a live engine the jobs may wait for one that takes a prompt.
  const isWordless =
    (workflows ?? []).length > 0 && workflows?.every(({ params }) => params.prompt === undefined);
  return (
    <>
      <ShapeFields shape={settings} onReshape={(shape) => onChange({ ...settings, ...shape })} />
      {isWordless ? (
        <p className="text-xs text-quiet">{t("noPrompt")}</p>
      ) : (
        <PromptField
          label={t("prompt")}
          hint={t("promptHint")}
          value={settings.prompt}
          onChange={(prompt) => onChange({ ...settings, prompt })}
        />
      )}
    </>
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
  /** From what the step is then; one that was removed meanwhile stays so. */
  readonly onUpdate: (id: number, update: (now: Step) => Step) => void;
  readonly onRemove: (() => void) | null;
  readonly onUp: (() => void) | null;
}

type SettingsOf<Mode extends Step["mode"]> = StepFor<Mode>["settings"];

function Fields({
  step,
  onUpdate,
  ...others
}: Pick<StepCardProps, "step" | "onUpdate" | "sample" | "canByFour">) {
  const { id } = step;
  const change = useCallback(
    (update: (now: SettingsOf<"change">) => SettingsOf<"change">) =>
      onUpdate(id, (now) => (now.mode === "change" ? { ...now, settings: update(now.settings) } : now)),
    [id, onUpdate],
  );
  const lay = useCallback(
    (update: (now: SettingsOf<"background">) => SettingsOf<"background">) =>
      onUpdate(id, (now) => (now.mode === "background" ? { ...now, settings: update(now.settings) } : now)),
    [id, onUpdate],
  );
  // Safe cast: settings of the mode that the step has.
  const put = (settings: Step["settings"]) => onUpdate(id, () => ({ ...step, settings }) as Step);
  switch (step.mode) {
    case "background":
      return <BackgroundFields settings={step.settings} sample={others.sample} onUpdate={lay} />;
    case "change":
      return <ChangeFields settings={step.settings} onUpdate={change} />;
    case "enhance":
      return <EnhanceFields {...others} settings={step.settings} onChange={put} />;
    case "adjust":
      return <AdjustFields {...others} settings={step.settings} onChange={put} />;
    case "crop":
      return <ShapeFields shape={step.settings} onReshape={(shape) => put({ ...step.settings, ...shape })} />;
    case "expand":
      return <GrowFields settings={step.settings} onChange={put} />;
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
