"use client";
import { useTranslations } from "next-intl";
import { useCapability } from "../data/use-capabilities.ts";
import { Segmented } from "../ui/segmented.tsx";
import { type Category, studio } from "./studio-store.ts";
import { useStudio } from "./use-studio.ts";

/** The preview composite lays clothes over the upper body and cannot fit trousers. */
const localCategories: readonly Category[] = ["auto", "top", "dress"];
const allCategories: readonly Category[] = ["auto", "top", "bottom", "dress"];

export function CategoryChoice() {
  const t = useTranslations("studio");
  const { category } = useStudio();
  const engine = useCapability("outfit_change")?.engine;
  const categories = engine === "local" || engine === undefined ? localCategories : allCategories;
  return (
    <div className="flex min-h-9 items-center">
      <Segmented
        label={t("category")}
        value={category}
        onChange={(next) => studio.set({ category: next })}
        options={categories.map((value) => ({ value, label: t(`categories.${value}`) }))}
      />
    </div>
  );
}
