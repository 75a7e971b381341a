"use client";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import { RectangleHorizontal, RectangleVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../../ui/button.tsx";
import { type RatioName, ratioNames, type Shape } from "../frame/rect.ts";

/** `4:5` of the preset `5:4` that is turned. */
function shownRatio(name: RatioName, isTall: boolean): string {
  return isTall ? name.split(":").toReversed().join(":") : name;
}

interface ShapeChoiceProps {
  readonly shape: Shape;
  readonly onReshape: (shape: Shape) => void;
}

/** The shapes that a frame can be given. */
export function RatioChoice({ shape: { ratio, isTall }, onReshape }: ShapeChoiceProps) {
  const t = useTranslations("edit.shape");
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

/** Turns the chosen shape: upright instead of wide, and back. */
export function TallButton({ shape: { ratio, isTall }, onReshape }: ShapeChoiceProps) {
  const t = useTranslations("edit.shape");
  const isShaped = ratio !== "free" && ratio !== "original" && ratio !== "1:1";
  return (
    <IconButton
      label={t(isTall ? "wide" : "tall")}
      disabled={!isShaped}
      onClick={() => onReshape({ ratio, isTall: !isTall })}
    >
      {isTall ? <RectangleHorizontal aria-hidden /> : <RectangleVertical aria-hidden />}
    </IconButton>
  );
}
