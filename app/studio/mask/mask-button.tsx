"use client";
import { Brush } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useImage } from "../../data/use-image.ts";
import { Button } from "../../ui/button.tsx";
import { useOutfitEngine } from "../engine/use-outfit-engine.ts";
import { MaskPainter } from "../mask.tsx";
import { personMask } from "./person-mask.ts";
import { usePersonMask } from "./use-person-mask.ts";

/** Offers to paint where the garment goes, when something that follows it is there. */
export function MaskButton({ personId }: { readonly personId: string | null }) {
  const t = useTranslations("studio.mask");
  const { data: person } = useImage(personId);
  const { offersMask, takesMask } = useOutfitEngine(personId);
  const { strokes, isPainted } = usePersonMask(personId);
  const [isOpen, setOpen] = useState(false);
  if (!offersMask || person === undefined) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-1 gap-y-1">
      <Button size="small" onClick={() => setOpen(true)}>
        <Brush aria-hidden />
        {t(isPainted ? "change" : "paint")}
      </Button>
      {isPainted ? (
        <Button size="small" look="quiet" onClick={() => personMask.set({ personId: null, strokes: [] })}>
          {t("clear")}
        </Button>
      ) : null}
      {isPainted && !takesMask ? <p className="basis-full text-xs text-quiet">{t("unused")}</p> : null}
      <MaskPainter isOpen={isOpen} person={person} strokes={strokes} onClose={() => setOpen(false)} />
    </div>
  );
}
