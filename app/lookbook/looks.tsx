"use client";
import { Plus, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { OfferedWorkflow } from "../client/queries.ts";
import { PictureStrip } from "../pictures/picture-strip.tsx";
import { Picture } from "../pictures/picture.tsx";
import { takesAtOnce, mostPieces } from "../studio/outfit.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { useItemName, type WardrobeItem } from "../client/wardrobe.ts";

/** Image ids of the garments that are worn together. */
export type Look = readonly string[];

interface LookRowProps {
  readonly items: readonly WardrobeItem[];
  readonly number: number;
  readonly engine: OfferedWorkflow | null;
  readonly onAdd: () => void;
  readonly onRemove: (imageId: string) => void;
}

function LookRow({ items, number, engine, onAdd, onRemove }: LookRowProps) {
  const t = useTranslations("lookbook");
  const nameOf = useItemName();
  const count = items.length;
  return (
    <li aria-label={t("look", { number })} className="flex flex-wrap items-center gap-2">
      <span aria-hidden className="tabular w-5 text-xs text-quiet">
        {number}
      </span>
      {items.map((item) => (
        <span
          key={item.imageId}
          className="plate relative size-14 overflow-hidden rounded-control ring-1 ring-line"
        >
          <Picture
            imageId={item.imageId}
            variant="thumbnail"
            thumbhash={item.thumbhash}
            alt={nameOf(item)}
            fit="contain"
            className="size-full"
          />
          {count > 1 ? (
            <IconButton
              label={t("removePiece", { name: nameOf(item), number })}
              side="top"
              onClick={() => onRemove(item.imageId)}
              className="absolute top-0 inset-e-0 size-6! bg-raised/85"
            >
              <X aria-hidden />
            </IconButton>
          ) : null}
        </span>
      ))}
      {count < mostPieces ? (
        <IconButton
          label={t("addPiece", { number })}
          side="top"
          onClick={onAdd}
          className="size-14! ring-1 ring-line"
        >
          <Plus aria-hidden />
        </IconButton>
      ) : null}
      {count > 1 ? (
        <span className="text-xs text-quiet">
          {takesAtOnce(engine, count) ? t("once") : t("passes", { count })}
        </span>
      ) : null}
    </li>
  );
}

interface LooksProps {
  readonly looks: readonly Look[];
  /** Garments that the engine dresses. */
  readonly garments: readonly WardrobeItem[];
  readonly engine: OfferedWorkflow | null;
  readonly onChange: (looks: readonly Look[]) => void;
}

/** The chosen looks, each of one to four pieces that are worn together. */
export function Looks({ looks, garments, engine, onChange }: LooksProps) {
  const t = useTranslations("lookbook");
  const nameOf = useItemName();
  const [adding, setAdding] = useState<number | null>(null);
  if (looks.length === 0) return null;
  const change = (place: number, look: Look) =>
    onChange(looks.flatMap((one, at) => (at === place ? (look.length === 0 ? [] : [look]) : [one])));
  const own = adding === null ? [] : (looks[adding] ?? []);
  const others = garments.filter(({ imageId }) => !own.includes(imageId));
  return (
    <section aria-label={t("together")} className="flex flex-col gap-3">
      <h2 className="text-sm font-medium">{t("together")}</h2>
      <p className="text-xs text-quiet">{t("togetherHint")}</p>
      <ol className="flex flex-col gap-2">
        {looks.map((look, at) => (
          <LookRow
            key={look.join()}
            items={look.flatMap((id) => garments.find(({ imageId }) => imageId === id) ?? [])}
            number={at + 1}
            engine={engine}
            onAdd={() => setAdding(at)}
            onRemove={(id) =>
              change(
                at,
                look.filter((one) => one !== id),
              )
            }
          />
        ))}
      </ol>
      <Dialog
        open={adding !== null}
        onOpenChange={(isOpen) => isOpen || setAdding(null)}
        title={t("addPiece", { number: (adding ?? 0) + 1 })}
      >
        {others.length === 0 ? <p className="text-sm text-quiet">{t("noMore")}</p> : null}
        <PictureStrip
          title={t("garments")}
          pictures={others.map((item) => ({
            id: item.imageId,
            thumbhash: item.thumbhash,
            label: nameOf(item),
          }))}
          chosenId={null}
          onChoose={(id) => {
            if (adding !== null) change(adding, [...own, id]);
            setAdding(null);
          }}
        />
        <Button look="quiet" size="small" className="mt-4" onClick={() => setAdding(null)}>
          {t("cancel")}
        </Button>
      </Dialog>
    </section>
  );
}
