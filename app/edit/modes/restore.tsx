"use client";
import { History } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { useImage } from "../../client/queries.ts";
import { useSourceImage } from "../../client/source.ts";
import { imageUrl } from "../../client/urls.ts";
import { Segmented } from "../../ui/fields.tsx";
import { hasPaint, type Mark, rasterOf } from "../mask/marks.ts";
import { paintChanged, tintSize } from "../overlay.tsx";
import { sizeOf } from "../session.ts";
import { useMask } from "./inpaint.tsx";
import { ModeAction, ModeHint, type ModeProps, settingsOf } from "./parts.tsx";

/**
 * What can be painted back into a picture: the first picture that it was made of, and the one before; only of the same size.
 * Null is none.
 */
function useBases(image: ImageView) {
  const { sourceId } = useSourceImage(image);
  const isFirst = image.jobId === null || image.stackId === image.id;
  const { data: first } = useImage(isFirst ? null : image.stackId);
  const { data: before } = useImage(sourceId);
  const fitting = (base: ImageView | undefined) =>
    base?.widthPx === image.widthPx && base.heightPx === image.heightPx ? base.id : null;
  const [firstId, beforeId] = [fitting(first), fitting(before)];
  return { first: firstId, before: beforeId === firstId ? null : beforeId };
}

const baseOf = (bases: ReturnType<typeof useBases>, from: "first" | "before") =>
  bases[from] ?? bases.first ?? bases.before;

/** The decoded file of a picture; null until it is there. */
function useDecoded(imageId: string | null): HTMLImageElement | null {
  const [decoded, setDecoded] = useState<HTMLImageElement | null>(null);
  useEffect(() => {
    if (imageId === null) return undefined;
    let isGone = false;
    const picture = new Image();
    picture.src = imageUrl(imageId, "original");
    // Without it the tint shows what is marked.
    picture.decode().then(
      () => isGone || setDecoded(picture),
      () => undefined,
    );
    return () => {
      isGone = true;
      setDecoded(null);
    };
  }, [imageId]);
  return decoded;
}

interface RestoreLayerProps {
  readonly image: ImageView;
  readonly marks: readonly Mark[];
  readonly from: "first" | "before";
}

/** Over the picture, in its px: what is marked as it was before. */
export function RestoreLayer({ image, marks, from }: RestoreLayerProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const base = useDecoded(baseOf(useBases(image), from));
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context) return;
    paintChanged(canvas.current, null, rasterOf(base === null ? [] : marks, sizeOf(image)));
    if (base === null) return;
    context.globalCompositeOperation = "source-in";
    context.drawImage(base, 0, 0, image.widthPx, image.heightPx);
    context.globalCompositeOperation = "source-over";
  }, [base, image, marks]);
  return (
    <canvas
      ref={canvas}
      {...tintSize(image)}
      aria-hidden
      className="pointer-events-none absolute inset-0 size-full"
    />
  );
}

/** Restore: what is marked becomes again what it was. */
export function RestoreMode({ image, session, modes, isBusy, onJob }: ModeProps) {
  const t = useTranslations("edit.modes.restore");
  const mask = useMask(image);
  const [{ from }, change] = settingsOf(modes, "restore");
  const bases = useBases(image);
  const baseId = baseOf(bases, from);
  const { history } = session;
  const obstacle = () => {
    if (baseId === null) return t("none");
    return hasPaint(history, image) ? null : t("missing");
  };
  const request = async () => ({
    kind: "restore" as const,
    inputs: { image: image.id, base: baseId ?? image.id, mask: await mask.send(history.marks) },
  });
  return (
    <>
      <ModeHint mode="restore" />
      {bases.first === null || bases.before === null ? null : (
        <Segmented
          label={t("from")}
          value={from}
          onChange={(next) => change({ from: next })}
          options={[
            { value: "first", label: t("first") },
            { value: "before", label: t("before") },
          ]}
        />
      )}
      <ModeAction
        icon={<History aria-hidden />}
        label={t("apply")}
        obstacle={obstacle()}
        quoted={
          baseId === null
            ? null
            : { kind: "restore", inputs: { image: image.id, base: baseId, mask: image.id } }
        }
        makeRequest={request}
        spent={history.marks}
        onSettled={mask.settle}
        isBusy={isBusy}
        onJob={onJob}
      />
    </>
  );
}
