"use client";
import { useState } from "react";
import { imageUrl, type Variant } from "../data/image-url.ts";
import { cx } from "../ui/cx.ts";
import { thumbhashUrl } from "./thumbhash-url.ts";

interface Props {
  readonly imageId: string;
  readonly variant: Variant;
  readonly alt: string;
  readonly thumbhash?: string;
  readonly className?: string;
  readonly fit?: "cover" | "contain";
  readonly eager?: boolean;
}

/** A stored picture that starts as its thumbhash. */
export function Picture({ imageId, variant, alt, thumbhash, className, fit = "cover", eager }: Props) {
  const [isLoaded, setLoaded] = useState(false);
  const hashStyle =
    thumbhash === undefined || isLoaded
      ? undefined
      : { backgroundImage: `url(${thumbhashUrl(thumbhash)})`, backgroundSize: "100% 100%" };
  return (
    <img
      src={imageUrl(imageId, variant)}
      alt={alt}
      draggable={false}
      decoding="async"
      loading={eager === true ? "eager" : "lazy"}
      onLoad={() => setLoaded(true)}
      style={hashStyle}
      className={cx(fit === "cover" ? "object-cover" : "object-contain", className)}
    />
  );
}
