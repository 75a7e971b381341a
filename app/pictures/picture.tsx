"use client";
import { Star } from "lucide-react";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import { thumbHashToDataURL } from "thumbhash";
import type { ImageView } from "@atelier/server/images";
import type { Board } from "../client/boards.ts";
import { boardFileUrl, imageUrl, type Variant } from "../client/urls.ts";
import { cx } from "../ui/button.tsx";

/** Marks a picture that an engine made. */
export function AiBadge() {
  const t = useTranslations("pictures");
  return (
    <span className="inline-flex h-[18px] items-center rounded-[4px] bg-black/65 px-1.5 text-[11px] font-semibold tracking-wide text-white">
      <span aria-hidden>{t("aiBadge")}</span>
      <span className="sr-only">{t("aiBadgeLong")}</span>
    </span>
  );
}

const known = new Map<string, string>();

/** data: URL of a blurred picture, decoded once per hash. */
function thumbhashUrl(thumbhash: string): string {
  const found = known.get(thumbhash);
  if (found !== undefined) return found;
  const url = thumbHashToDataURL(Uint8Array.from(atob(thumbhash), (sign) => sign.charCodeAt(0)));
  known.set(thumbhash, url);
  return url;
}

/** The display name of a picture: its title, else its kind and time; to the second, unless it stands alone. */
export function useImageName(isAlone?: boolean): (image: ImageView) => string {
  const t = useTranslations("pictures");
  const jobs = useTranslations("jobs");
  const format = useFormatter();
  return (image) => {
    if (image.title !== "") return image.title;
    const time = format.dateTime(new Date(image.createdAt), {
      day: "numeric",
      month: "long",
      hour: "2-digit",
      minute: "2-digit",
      second: isAlone ? undefined : "2-digit",
    });
    return t("name", { what: image.kind === null ? t("upload") : jobs(`kinds.${image.kind}`), time });
  };
}

interface Props {
  readonly imageId: string;
  readonly variant: Variant;
  /** Where the file is, if it is not one of the user's own pictures. */
  readonly src?: string;
  readonly alt: string;
  readonly thumbhash?: string;
  readonly className?: string;
  readonly fit?: "cover" | "contain";
  readonly eager?: boolean;
  /** It has been shown already: it is drawn with what is around it. */
  readonly atOnce?: boolean;
}

/** A stored picture; its thumbhash is shown until the file is loaded. */
export function Picture(props: Props) {
  const { imageId, variant, src, alt, thumbhash, className, fit = "cover", eager, atOnce } = props;
  const [isLoaded, setLoaded] = useState(false);
  const hashStyle =
    thumbhash === undefined || isLoaded
      ? undefined
      : { background: `center/${fit} no-repeat url(${thumbhashUrl(thumbhash)})` };
  return (
    <img
      src={src ?? imageUrl(imageId, variant)}
      alt={alt}
      draggable={false}
      decoding={atOnce === true ? "sync" : "async"}
      loading={eager === true || atOnce === true ? "eager" : "lazy"}
      onLoad={() => setLoaded(true)}
      style={hashStyle}
      className={cx(fit === "cover" ? "object-cover" : "object-contain", className)}
    />
  );
}

interface CoverProps {
  readonly board: Pick<Board, "id" | "coverIds"> & { readonly ownerName?: string };
  readonly className: string;
}

/** Up to four pictures of a board in one square. */
export function BoardCover({ board, className }: CoverProps) {
  const { coverIds } = board;
  const shown = coverIds.length === 4 ? coverIds : coverIds.slice(0, 1);
  return (
    <span
      aria-hidden
      className={cx(
        "grid shrink-0 overflow-hidden rounded-[4px] bg-well",
        shown.length === 4 && "grid-cols-2",
        className,
      )}
    >
      {shown.map((id) => (
        <img
          key={id}
          src={
            board.ownerName === undefined
              ? imageUrl(id, "thumbnail")
              : boardFileUrl(board.id, id, "thumbnail")
          }
          alt=""
          loading="lazy"
          className="size-full object-cover"
        />
      ))}
    </span>
  );
}

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
