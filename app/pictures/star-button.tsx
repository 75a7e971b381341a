"use client";
import { Star } from "lucide-react";
import { useTranslations } from "next-intl";
import { useImage } from "../data/use-image.ts";
import { IconButton } from "../ui/icon-button.tsx";
import { cx } from "../ui/cx.ts";
import { useStar } from "./use-star.ts";

export function StarButton({ imageId }: { readonly imageId: string }) {
  const t = useTranslations("pictures");
  const { data } = useImage(imageId);
  const star = useStar();
  const starred = data?.starred ?? false;
  return (
    <IconButton
      label={starred ? t("unstar") : t("star")}
      pressed={starred}
      onClick={() => star.mutate({ ids: [imageId], starred: !starred })}
    >
      <Star className={cx(starred && "fill-current")} aria-hidden />
    </IconButton>
  );
}
