"use client";
import {
  ImagePlus,
  Maximize2,
  MessageCircle,
  Scissors,
  Shirt,
  Sparkles,
  Star,
  UserRound,
} from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import type { ReactNode } from "react";
import type { ImageView } from "@atelier/server/images";
import { useCapabilities, useCapability } from "../client/queries.ts";
import { mostGiven, mostReferences, referenceHref } from "../client/references.ts";
import { useSubmit } from "../client/submit/job.ts";
import { buttonStyle, cx, IconButton } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/overlays.tsx";
import { toastDone } from "../ui/toasts.tsx";
import { useAddToWardrobe } from "../client/wardrobe-changes.ts";
import { useStar } from "./marks.tsx";

type Picture = Pick<ImageView, "widthPx" | "heightPx">;

interface UpscaleOffer {
  /** Size of the result as text. */
  readonly size: string;
  readonly isPossible: boolean;
  /** Why the upscale is not possible, or has to wait; null otherwise. */
  readonly reason: string | null;
}

/** The upscaled size of a picture, and whether that size is allowed. */
export function useUpscaleOffer(image: Picture, scale: 2 | 4 = 2): UpscaleOffer {
  const t = useTranslations("pictures");
  const capability = useCapability("upscale");
  const maxPixels = useCapabilities()?.limits.maxOutputPixels ?? Infinity;
  const width = image.widthPx * scale;
  const height = image.heightPx * scale;
  const size = t("size", { width, height });
  const reason = capability?.reason ?? null;
  if (capability?.available === false) return { size, isPossible: false, reason: reason ?? t("noEngine") };
  if (width * height <= maxPixels) return { size, isPossible: true, reason };
  const max = Math.round(maxPixels / 1_000_000);
  return { size, isPossible: false, reason: t("tooLarge", { size, max }) };
}

/** Puts pictures beside the prompt of Create, as many as go with one. */
export function AsReference({ imageIds }: { readonly imageIds: readonly string[] }) {
  const t = useTranslations("pictures");
  const router = useRouter();
  return (
    <MenuItem
      disabled={imageIds.length > mostReferences}
      onSelect={() => router.push(referenceHref(imageIds))}
    >
      <ImagePlus aria-hidden />
      {t("asReference")}
    </MenuItem>
  );
}

/** Takes pictures along to the assistant, which is asked about them there. */
export function AskAbout({ imageIds }: { readonly imageIds: readonly string[] }) {
  const t = useTranslations("pictures");
  const router = useRouter();
  return (
    <MenuItem
      disabled={imageIds.length > mostGiven}
      onSelect={() => router.push(`/assistant?about=${imageIds.join(",")}`)}
    >
      <MessageCircle aria-hidden />
      {t("askAbout", { count: imageIds.length })}
    </MenuItem>
  );
}

interface QuickActionsProps {
  readonly image: ImageView;
  /** Further entries. */
  readonly children: ReactNode;
}

/** Actions that need one click; their result appears in the gallery. */
export function QuickActions({ image, children }: QuickActionsProps) {
  const t = useTranslations("pictures");
  const submit = useSubmit(() => toastDone(t("started")));
  const upscale = useUpscaleOffer(image);
  const cutOut = useCapability("remove_background");
  const keep = useTranslations("wardrobe");
  const wardrobe = useAddToWardrobe();
  return (
    <Menu
      align="end"
      trigger={
        <button type="button" className={buttonStyle("quiet", "small")}>
          <Sparkles aria-hidden />
          {t("process")}
        </button>
      }
    >
      <MenuItem
        disabled={!upscale.isPossible}
        onSelect={() => submit.mutate({ request: { kind: "upscale", inputs: { image: image.id } } })}
      >
        <Maximize2 aria-hidden />
        <span>
          {t("upscale")}
          <span className="tabular block text-xs text-quiet">{upscale.reason ?? upscale.size}</span>
        </span>
      </MenuItem>
      <MenuItem
        disabled={cutOut?.available === false}
        onSelect={() =>
          submit.mutate({ request: { kind: "remove_background", inputs: { image: image.id } } })
        }
      >
        <Scissors aria-hidden />
        <span>
          {t("cutOut")}
          <span className="block text-xs text-quiet empty:hidden">{cutOut?.reason}</span>
        </span>
      </MenuItem>
      {children}
      <AsReference imageIds={[image.id]} />
      <AskAbout imageIds={[image.id]} />
      {(["garment", "person"] as const).map((what) => (
        <MenuItem key={what} onSelect={() => wardrobe.mutate({ imageId: image.id, what })}>
          {what === "garment" ? <Shirt aria-hidden /> : <UserRound aria-hidden />}
          {keep(`addFromGallery.${what}`)}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** Of a picture as it is shown, which may be known from a list alone. */
export function StarButton({ id, starred }: Pick<ImageView, "id" | "starred">) {
  const t = useTranslations("pictures");
  const star = useStar();
  return (
    <IconButton
      label={starred ? t("unstar") : t("star")}
      pressed={starred}
      onClick={() => star.mutate({ images: [{ id, starred }], value: !starred })}
    >
      <Star className={cx(starred && "fill-current")} aria-hidden />
    </IconButton>
  );
}
