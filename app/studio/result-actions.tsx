"use client";
import { Download, Pencil, Shirt } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import type { JobView } from "@atelier/server/jobs";
import { downloadUrl } from "../data/image-url.ts";
import { StarButton } from "../pictures/star-button.tsx";
import { Button } from "../ui/button.tsx";
import { buttonStyle } from "../ui/button-style.ts";
import { studio } from "./studio-store.ts";

interface Props {
  readonly job: JobView;
  /** The result of what lies on the table, so that the next step is another garment. */
  readonly isCurrent: boolean;
}

/** What can be done with a finished result. */
export function ResultActions({ job, isCurrent }: Props) {
  const t = useTranslations("studio");
  const imageId = job.outputs[0]?.imageId;
  if (imageId === undefined) return null;
  return (
    <div role="group" aria-label={t("resultActions")} className="flex flex-col gap-3">
      <div className="flex items-center gap-2">
        <a href={downloadUrl(imageId)} download className={buttonStyle("plain", "small")}>
          <Download aria-hidden />
          {t("download")}
        </a>
        <Link href={`/edit/${imageId}`} className={buttonStyle("plain", "small")}>
          <Pencil aria-hidden />
          {t("edit")}
        </Link>
        <span className="ml-auto flex">
          <StarButton imageId={imageId} />
        </span>
      </div>
      <Button
        look={isCurrent ? "primary" : "plain"}
        size={isCurrent ? "large" : "medium"}
        onClick={() => studio.set({ garmentId: null, jobId: null })}
      >
        <Shirt aria-hidden />
        {t("tryAnother")}
      </Button>
    </div>
  );
}
