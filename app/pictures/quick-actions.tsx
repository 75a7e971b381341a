"use client";
import type { ImageView } from "@atelier/server/images";
import { Maximize2, Scissors, Sparkles } from "lucide-react";
import { useTranslations } from "next-intl";
import { useCapability } from "../client/queries.ts";
import { useSubmit } from "../data/use-submit.ts";
import { buttonStyle } from "../ui/button-style.ts";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { toastDone } from "../ui/toasts.ts";
import { useUpscaleOffer } from "./use-upscale-offer.ts";

/** What an engine can do with a picture at one click; the result comes to the gallery. */
export function QuickActions({ image }: { readonly image: ImageView }) {
  const t = useTranslations("pictures");
  const submit = useSubmit(() => toastDone(t("started")));
  const upscale = useUpscaleOffer(image);
  const cutOut = useCapability("remove_background");
  return (
    <Menu
      align="end"
      trigger={
        <button type="button" className={buttonStyle("quiet", "small")}>
          <Sparkles aria-hidden />
          <span className="max-sm:sr-only">{t("process")}</span>
        </button>
      }
    >
      <MenuItem
        disabled={!upscale.isPossible}
        onSelect={() => submit.mutate({ kind: "upscale", inputs: { image: image.id } })}
      >
        <Maximize2 aria-hidden />
        <span>
          {t("upscale")}
          <span className="tabular block text-xs text-quiet">{upscale.reason ?? upscale.size}</span>
        </span>
      </MenuItem>
      <MenuItem
        disabled={cutOut?.available === false}
        onSelect={() => submit.mutate({ kind: "remove_background", inputs: { image: image.id } })}
      >
        <Scissors aria-hidden />
        <span>
          {t("cutOut")}
          <span className="block text-xs text-quiet empty:hidden">{cutOut?.reason}</span>
        </span>
      </MenuItem>
    </Menu>
  );
}
