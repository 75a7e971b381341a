"use client";
import { ArrowLeftRight, Star, Trash2, X } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ImageView } from "@atelier/server/images";
import { AiBadge, useImageName } from "../pictures/picture.tsx";
import { Stars } from "../pictures/stars.tsx";
import { cx, IconButton } from "../ui/button.tsx";
import type { Acts, Compared } from "./compared.ts";

interface Props {
  readonly compared: Compared;
  readonly image: ImageView;
  readonly acts: Acts;
  /** The letter of the one that it is swapped with; null where it is alone. */
  readonly swapsWith: string | null;
  readonly isActive: boolean;
}

/** Which picture it is, and what can be done with it. */
export function PictureBar({ compared, image, acts, swapsWith, isActive }: Props) {
  const t = useTranslations("compare");
  const pictures = useTranslations("pictures");
  const name = useImageName()(image);
  return (
    <div
      role="toolbar"
      aria-label={t("pictureBar", { letter: compared.letter })}
      className="flex flex-wrap items-center justify-between gap-x-2 ps-1"
    >
      <p className="flex min-w-16 flex-1 items-center gap-2 py-1.5 text-xs max-sm:basis-full">
        <Letter letter={compared.letter} isActive={isActive} />
        <span title={name} className="truncate">
          {name}
        </span>
        {image.isAi ? <AiBadge /> : null}
      </p>
      <Stars images={[image]} />
      <div className="flex">
        <IconButton
          label={pictures(image.starred ? "unstar" : "star")}
          keys="s"
          side="top"
          pressed={image.starred}
          onClick={() => acts.star(image)}
        >
          <Star className={cx(image.starred && "fill-current")} aria-hidden />
        </IconButton>
        {swapsWith === null ? null : (
          <IconButton
            label={t("swap", { letter: swapsWith })}
            keys="w"
            side="top"
            onClick={() => acts.swap(compared)}
          >
            <ArrowLeftRight aria-hidden />
          </IconButton>
        )}
        <IconButton label={t("remove")} keys="Delete" side="top" onClick={() => acts.remove(image.id)}>
          <Trash2 aria-hidden />
        </IconButton>
        <IconButton label={t("drop")} keys="x" side="top" onClick={() => acts.drop(compared)}>
          <X aria-hidden />
        </IconButton>
      </div>
    </div>
  );
}

interface LetterProps {
  readonly letter: string;
  readonly isActive: boolean;
}

/** What a picture of the comparison is called; filled for the one that the keys are for. */
export function Letter({ letter, isActive }: LetterProps) {
  return (
    <span
      className={cx(
        "flex size-5 shrink-0 items-center justify-center rounded-[4px] text-[11px] font-semibold",
        isActive ? "bg-ink text-paper" : "bg-hover text-quiet",
      )}
    >
      {letter}
    </span>
  );
}
