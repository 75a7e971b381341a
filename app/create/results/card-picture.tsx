"use client";
import type { JobView } from "@atelier/server/jobs";
import { useTranslations } from "next-intl";
import { useState, ViewTransition } from "react";
import { AiBadge } from "../../pictures/ai-badge.tsx";
import { Picture } from "../../pictures/picture.tsx";
import { cx } from "../../ui/cx.ts";

interface Props {
  readonly job: JobView;
  readonly isOpen: boolean;
  readonly onOpen: (imageId: string) => void;
}

const freshMs = 5_000;

/** A picture that was just made develops from its preview; one that hung here before does not. */
function useIsFresh({ endedAt }: JobView): boolean {
  const [isFresh] = useState(() => endedAt !== null && Date.now() - Date.parse(endedAt) < freshMs);
  return isFresh;
}

export function CardPicture({ job, isOpen, onOpen }: Props) {
  const t = useTranslations("create");
  const isFresh = useIsFresh(job);
  const [output] = job.outputs;
  if (output === undefined) return null;
  const { imageId, thumbhash } = output;
  const name = typeof job.params.prompt === "string" ? job.params.prompt : "";
  const picture = (
    <Picture
      imageId={imageId}
      variant="preview"
      thumbhash={thumbhash}
      alt=""
      className={cx("size-full", isFresh && "animate-develop")}
    />
  );
  return (
    <>
      <button
        type="button"
        data-tile={imageId}
        aria-label={t("open", { name })}
        onClick={() => onOpen(imageId)}
        className="relative block size-full overflow-hidden rounded-card bg-well"
      >
        {isOpen ? (
          picture
        ) : (
          <ViewTransition name={`picture-${imageId}`} share="picture" default="none">
            {picture}
          </ViewTransition>
        )}
      </button>
      <span className="pointer-events-none absolute right-1.5 bottom-1.5">
        <AiBadge />
      </span>
    </>
  );
}
