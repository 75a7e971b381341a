"use client";
import { ImagePlus, Plus, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useImage } from "../client/queries.ts";
import { Picture } from "../pictures/picture.tsx";
import { Button, IconButton, Spinner } from "../ui/button.tsx";
import { Segmented } from "../ui/fields.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { useFilePicker } from "../uploads/drop.tsx";
import { addUpload, useUpload } from "../uploads/store.ts";
import { useOutfitEngine } from "./engine.tsx";
import { RecentStrip, WardrobeStrip } from "./inputs.tsx";
import { hidesOne, mostPieces, type Piece, takesAtOnce } from "./outfit.ts";
import { categoriesOf, categoryFor, studio, useStudio } from "./state.ts";
import { type Category } from "../client/wardrobe.ts";

interface PieceRowProps {
  readonly piece: Piece;
  readonly number: number;
  readonly onChange: (category: Category) => void;
  readonly onRemove: () => void;
}

function PieceRow({ piece, number, onChange, onRemove }: PieceRowProps) {
  const t = useTranslations("studio");
  const { personId } = useStudio();
  const { chosen } = useOutfitEngine(personId);
  const { data: image } = useImage(piece.imageId);
  return (
    <li className="flex items-center gap-3">
      <span className="plate size-14 shrink-0 overflow-hidden rounded-control ring-1 ring-line">
        <Picture
          imageId={piece.imageId}
          variant="thumbnail"
          thumbhash={image?.thumbhash}
          alt={t("pieces.alt", { number })}
          fit="contain"
          className="size-full"
        />
      </span>
      <div className="min-w-0 flex-1 overflow-x-auto">
        <Segmented
          label={t("pieces.category", { number })}
          value={categoryFor(chosen, piece.category)}
          onChange={onChange}
          options={categoriesOf(chosen).map((value) => ({ value, label: t(`categories.${value}`) }))}
        />
      </div>
      <IconButton label={t("pieces.remove", { number })} onClick={onRemove}>
        <X aria-hidden />
      </IconButton>
    </li>
  );
}

interface ChooserProps {
  readonly onChoose: (piece: Piece) => void;
}

/** Where a further piece comes from: wardrobe, what was worn before, or a file. */
function Chooser({ onChoose }: ChooserProps) {
  const t = useTranslations("studio");
  const [uploadId, setUploadId] = useState<string | null>(null);
  const upload = useUpload(uploadId);
  const choose = (imageId: string, category: Category = "auto") => onChoose({ imageId, category });
  const pick = useFilePicker(([file]) => {
    if (file !== undefined) setUploadId(addUpload(file, ({ id }) => choose(id)));
  });
  return (
    <div className="flex flex-col items-start gap-4">
      <div className="flex w-full min-w-0 flex-col gap-3">
        <WardrobeStrip slot="garment" chosenId={null} onChoose={choose} />
        <RecentStrip slot="garment" chosenId={null} onChoose={choose} />
      </div>
      <Button size="small" disabled={upload?.state === "sending"} onClick={() => pick()}>
        {upload?.state === "sending" ? <Spinner /> : <ImagePlus aria-hidden />}
        {t("empty.garment.choose")}
      </Button>
      {upload?.failure ? <p className="text-xs text-fail">{t("pieces.failed")}</p> : null}
    </div>
  );
}

/** The pieces of the outfit beside the first, and how they are put on. */
export function Pieces() {
  const t = useTranslations("studio");
  const { personId, garmentId, category, more } = useStudio();
  const { chosen } = useOutfitEngine(personId);
  const [isOpen, setOpen] = useState(false);
  if (garmentId === null) return null;
  const set = (next: readonly Piece[]) => studio.set({ more: next, jobId: null });
  const count = more.length + 1;
  const pieces = [{ imageId: garmentId, category }, ...more];
  return (
    <section aria-label={t("pieces.title")} className="flex flex-col gap-3">
      {more.length === 0 ? null : (
        <ul className="flex flex-col gap-2">
          {more.map((piece, at) => (
            <PieceRow
              key={`${at} ${piece.imageId}`}
              piece={piece}
              number={at + 2}
              onChange={(next) =>
                set(more.map((one, place) => (place === at ? { ...one, category: next } : one)))
              }
              onRemove={() => set(more.filter((_, place) => place !== at))}
            />
          ))}
        </ul>
      )}
      {count > 1 ? (
        <p className="text-xs text-quiet">
          {takesAtOnce(chosen, count) ? t("pieces.once", { count }) : t("pieces.passes", { count })}
          {hidesOne(pieces, chosen) ? <span className="text-warn"> {t("pieces.hidden")}</span> : null}
        </p>
      ) : null}
      {count >= mostPieces ? null : (
        <Button look="quiet" size="small" className="-ms-2.5 self-start" onClick={() => setOpen(true)}>
          <Plus aria-hidden />
          {t("pieces.add")}
        </Button>
      )}
      <Dialog open={isOpen} onOpenChange={setOpen} title={t("pieces.add")}>
        <Chooser
          onChoose={(piece) => {
            set([...more, piece]);
            setOpen(false);
          }}
        />
      </Dialog>
    </section>
  );
}
