"use client";
import { RectangleHorizontal, RectangleVertical } from "lucide-react";
import { useTranslations } from "next-intl";
import { IconButton } from "../../ui/button.tsx";
import { ChoiceGrid } from "../../ui/choice-grid.tsx";
import { type RatioName, ratioNames, type Shape, shownRatio } from "../frame/rect.ts";

interface ShapeChoiceProps {
  readonly shape: Shape;
  readonly onReshape: (shape: Shape) => void;
  /** Those to choose from; all by default. */
  readonly names?: readonly RatioName[];
}

/** The shapes that a frame can be given. */
export function RatioChoice({ shape: { ratio, isTall }, onReshape, names = ratioNames }: ShapeChoiceProps) {
  const t = useTranslations("edit.shape");
  const own: Partial<Record<RatioName, string>> = { free: t("free"), original: t("original") };
  return (
    <ChoiceGrid
      label={t("ratio")}
      value={ratio}
      options={names.map((name) => ({
        value: name,
        label: own[name] ?? shownRatio({ ratio: name, isTall }),
      }))}
      className="grid-cols-4"
      onChange={(next) => onReshape({ ratio: next, isTall })}
    />
  );
}

/** Turns the chosen shape: upright instead of wide, and back. */
export function TallButton({ shape: { ratio, isTall }, onReshape }: Omit<ShapeChoiceProps, "names">) {
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
