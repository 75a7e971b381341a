"use client";
import { useTranslations } from "next-intl";
import { Segmented } from "../ui/segmented.tsx";
import { useOutfitEngine } from "./engine/use-outfit-engine.ts";
import { categoriesOf } from "./outfit-request.ts";
import { studio } from "./studio-store.ts";
import { useStudio } from "./use-studio.ts";

export function CategoryChoice({ personId }: { readonly personId: string | null }) {
  const t = useTranslations("studio");
  const { category } = useStudio();
  const { chosen } = useOutfitEngine(personId);
  const categories = categoriesOf(chosen);
  return (
    <div className="flex min-h-9 items-center">
      <Segmented
        label={t("category")}
        value={categories.includes(category) ? category : "auto"}
        onChange={(next) => studio.set({ category: next })}
        options={categories.map((value) => ({ value, label: t(`categories.${value}`) }))}
      />
    </div>
  );
}
