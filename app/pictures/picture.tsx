"use client";
import { useFormatter, useTranslations } from "next-intl";
import { useState } from "react";
import { thumbHashToDataURL } from "thumbhash";
import type { ImageView } from "@atelier/server/images";
import { imageUrl, type Variant } from "../client/urls.ts";
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
