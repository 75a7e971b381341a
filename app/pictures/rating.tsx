"use client";
import { Star } from "lucide-react";
import { useTranslations } from "next-intl";

export const ratings = [1, 2, 3, 4, 5] as const;

/** Key of a rating: `0` to `5`. */
export function ratingOfKey(key: string): number | null {
  return /^[0-5]$/.test(key) ? Number(key) : null;
}

/** The rating on a tile: as many stars, read as one. */
export function RatingBadge({ rating }: { readonly rating: number }) {
  const t = useTranslations("pictures.marks");
  if (rating === 0) return null;
  return (
    <span
      role="img"
      aria-label={t("stars", { count: rating })}
      className="pointer-events-none absolute bottom-1.5 inset-s-1.5 flex h-[18px] items-center rounded-[4px] bg-black/65 px-1.5 text-[11px] leading-none text-white"
    >
      {ratings
        .filter((value) => value <= rating)
        .map((value) => (
          <Star key={value} className="size-2.5 fill-current" aria-hidden />
        ))}
    </span>
  );
}
