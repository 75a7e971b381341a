"use client";
import type { JobView } from "@atelier/server/jobs";
import { Download, Maximize2, Pencil, Repeat2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { downloadUrl } from "../data/image-url.ts";
import { useSubmit } from "../data/use-submit.ts";
import { useUpscaleOffer } from "../pictures/use-upscale-offer.ts";
import { IconButton } from "../ui/icon-button.tsx";
import { toastDone } from "../ui/toasts.ts";
import { sizeOfJob } from "./results/size-of-job.ts";

/** What can be done with a finished picture. */
export function CardActions({ job }: { readonly job: JobView }) {
  const t = useTranslations("create");
  const pictures = useTranslations("pictures");
  const router = useRouter();
  const upscale = useSubmit(() => toastDone(pictures("started")));
  const offer = useUpscaleOffer(sizeOfJob(job));
  const imageId = job.outputs[0]?.imageId;
  if (imageId === undefined) return null;
  return (
    <div role="group" aria-label={t("actions")} className="-ml-2 flex">
      <IconButton label={t("remix")} onClick={() => router.push(`/create?remix=${imageId}`)}>
        <Repeat2 aria-hidden />
      </IconButton>
      <IconButton label={t("edit")} onClick={() => router.push(`/edit/${imageId}`)}>
        <Pencil aria-hidden />
      </IconButton>
      <IconButton
        label={offer.isPossible ? t("upscale", { size: offer.size }) : (offer.reason ?? pictures("noEngine"))}
        disabled={!offer.isPossible || upscale.isPending}
        onClick={() => upscale.mutate({ kind: "upscale", inputs: { image: imageId } })}
      >
        <Maximize2 aria-hidden />
      </IconButton>
      <IconButton label={t("download")} onClick={() => window.location.assign(downloadUrl(imageId))}>
        <Download aria-hidden />
      </IconButton>
    </div>
  );
}
