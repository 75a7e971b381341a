"use client";
import { RectangleHorizontal, RectangleVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../../ui/button.tsx";
import { ChoiceGrid } from "../../ui/choice-grid.tsx";
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
    <ChoiceGrid
      label={t("ratio")}
      value={ratio}
      options={ratioNames.map((name) => ({ value: name, label: names[name] ?? shownRatio(name, isTall) }))}
      className="grid-cols-4"
      onChange={(next) => onReshape({ ratio: next, isTall })}
    />
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
