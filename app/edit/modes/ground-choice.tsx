"use client";
import { Check, ImagePlus } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { useImage } from "../../client/queries.ts";
import { imageUrl } from "../../client/urls.ts";
import { Button, cx, inputStyle } from "../../ui/button.tsx";
import { Radio, RadioGroup } from "../../ui/radio.tsx";
import { Slider } from "../../ui/slider.tsx";
import { useFilePicker } from "../../uploads/drop.tsx";
import type { BackgroundSettings } from "./mode-settings.ts";
import { GalleryStrip } from "../../pictures/gallery-strip.tsx";
import { TakesFiles } from "../../pictures/picture-input.tsx";

/** Colours that are asked for often, with the names of their words. */
const swatches = {
  white: "#ffffff",
  paper: "#f3efe7",
  grey: "#b9b9b9",
  black: "#000000",
  sand: "#d9c3a0",
  rose: "#e8b4ae",
  green: "#5f8a6b",
  blue: "#7ba7d1",
} as const;
// Safe cast: the keys of a record of colours.
const swatchNames = Object.keys(swatches) as (keyof typeof swatches)[];

interface ColourChoiceProps {
  readonly colour: string;
  readonly onChange: (colour: string) => void;
}

function Swatches({ colour, onChange }: ColourChoiceProps) {
  const t = useTranslations("edit.background");
  return (
    <RadioGroup
      aria-label={t("colour")}
      value={colour}
      onValueChange={onChange}
      className="grid grid-cols-8 gap-1 max-wide:max-w-80"
    >
      {swatchNames.map((name) => (
        <Radio
          key={name}
          value={swatches[name]}
          aria-label={t(`swatches.${name}`)}
          title={t(`swatches.${name}`)}
          className="flex aspect-square min-w-0 cursor-pointer items-center justify-center rounded-control ring-1 ring-edge ring-inset aria-checked:ring-2 aria-checked:ring-ink"
          style={{ background: swatches[name] }}
        >
          {swatches[name] === colour ? (
            <Check aria-hidden strokeWidth={3} className="size-4 text-white mix-blend-difference" />
          ) : null}
        </Radio>
      ))}
    </RadioGroup>
  );
}

/** A colour of one's own: by the browser's dialog, or typed. */
function OwnColour({ colour, onChange }: ColourChoiceProps) {
  const t = useTranslations("edit.background");
  const [draft, setDraft] = useState<string | null>(null);
  const commit = () => {
    const typed = /^#?([\da-f]{6})$/i.exec(draft?.trim() ?? "")?.[1];
    setDraft(null);
    if (typed !== undefined) onChange(`#${typed.toLowerCase()}`);
  };
  return (
    <div className="flex items-center gap-2">
      <input
        type="color"
        aria-label={t("ownColour")}
        value={colour}
        onChange={(event) => onChange(event.target.value)}
        className="h-10 w-12 shrink-0 cursor-pointer rounded-control border border-edge bg-surface p-1"
      />
      <input
        type="text"
        autoComplete="off"
        spellCheck={false}
        aria-label={t("colourCode")}
        value={draft ?? colour}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
        }}
        className={cx(inputStyle, "tabular min-w-0 max-wide:max-w-40")}
      />
    </div>
  );
}

interface PictureChoiceProps {
  readonly image: ImageView;
  readonly settings: BackgroundSettings;
  readonly change: (changes: Partial<BackgroundSettings>) => void;
  readonly isUploading: boolean;
  readonly upload: (files: readonly File[]) => void;
}

/** What of a picture is seen behind another one: all of its shape, moved where there is more. */
function Covering({ image, settings, change }: Pick<PictureChoiceProps, "image" | "settings" | "change">) {
  const t = useTranslations("edit.background");
  const { pictureId, position } = settings;
  const { data: ground } = useImage(pictureId);
  if (pictureId === null) return null;
  const shape = image.widthPx / image.heightPx;
  const more = ground === undefined ? 0 : ground.widthPx / ground.heightPx - shape;
  return (
    <div className="flex items-center gap-3">
      <img
        src={imageUrl(pictureId, "thumbnail")}
        alt={t("pictureAlt")}
        className="max-h-24 max-w-28 shrink-0 rounded-control object-cover"
        style={{
          aspectRatio: shape,
          width: shape >= 1 ? 112 : 96 * shape,
          objectPosition: `${position * 100}% ${position * 100}%`,
        }}
      />
      {Math.abs(more) < 0.01 ? null : (
        <div className="min-w-0 flex-1">
          <span aria-hidden className="text-xs text-quiet">
            {t(more > 0 ? "across" : "down")}
          </span>
          <Slider
            label={t(more > 0 ? "across" : "down")}
            value={Math.round(position * 100)}
            min={0}
            max={100}
            onChange={(value) => change({ position: value / 100 })}
          />
        </div>
      )}
    </div>
  );
}

/** A picture that is laid behind another one: uploaded, dropped or of the gallery. */
export function PictureChoice({ image, settings, change, isUploading, upload }: PictureChoiceProps) {
  const t = useTranslations("edit.background");
  const pick = useFilePicker(upload);
  return (
    <>
      <TakesFiles take={upload} />
      <Button size="small" className="self-start" disabled={isUploading} onClick={() => pick()}>
        <ImagePlus aria-hidden />
        {t("upload")}
      </Button>
      <GalleryStrip
        title={t("fromGallery")}
        leftOut={[image.id]}
        chosenId={settings.pictureId}
        most={1}
        onChoose={([pictureId = null]) => change({ pictureId, position: 0.5 })}
      />
      <Covering image={image} settings={settings} change={change} />
    </>
  );
}

/** Colours to choose from, and one of one's own. */
export function ColourChoice(props: ColourChoiceProps) {
  return (
    <>
      <Swatches {...props} />
      <OwnColour {...props} />
    </>
  );
}

interface GroundLayerProps {
  readonly settings: BackgroundSettings;
}

/** Behind the picture: the chosen ground, which is seen where the picture is transparent. */
export function GroundLayer({ settings: { what, colour, pictureId, position } }: GroundLayerProps) {
  if (what === "colour")
    return <span aria-hidden className="absolute inset-0 -z-1" style={{ background: colour }} />;
  if (what !== "picture" || pictureId === null) return null;
  return (
    <img
      src={imageUrl(pictureId, "preview")}
      alt=""
      draggable={false}
      className="absolute inset-0 -z-1 size-full object-cover"
      style={{ objectPosition: `${position * 100}% ${position * 100}%` }}
    />
  );
}
