"use client";
import { Star } from "lucide-react";
import { useTranslations } from "next-intl";
import { cx } from "../ui/button.tsx";
import { type Rated, useRate } from "./marks.tsx";
import { ratings } from "./rating.tsx";

/** Five stars to click; the last one of the rating takes it away. */
export function Stars({ images }: { readonly images: readonly Rated[] }) {
  const t = useTranslations("pictures.marks");
  const rate = useRate();
  const [first] = images;
  const rating = images.every((image) => image.rating === first?.rating) ? (first?.rating ?? 0) : 0;
  return (
    <div role="group" aria-label={t("rating")} className="-ms-1.5 flex">
      {ratings.map((value) => (
        <button
          key={value}
          type="button"
          aria-label={t("stars", { count: value })}
          aria-pressed={rating === value}
          aria-keyshortcuts={String(value)}
          onClick={() => rate.mutate({ images, value: rating === value ? 0 : value })}
          className="touch flex size-8 items-center justify-center rounded-control text-quiet hover:bg-hover hover:text-ink"
        >
          <Star className={cx("size-[18px]", value <= rating && "fill-current text-ink")} aria-hidden />
        </button>
      ))}
    </div>
  );
}
