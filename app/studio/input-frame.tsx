"use client";
import { X } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ClipboardEvent, ReactNode } from "react";
import { useImage } from "../data/use-image.ts";
import { Picture } from "../pictures/picture.tsx";
import { IconButton } from "../ui/icon-button.tsx";
import { filesOf } from "../uploads/take-files.ts";
import { EmptyFrame } from "./empty-frame.tsx";
import { frameProportion } from "./frame-proportion.ts";
import { FrameHeader } from "./frame-header.tsx";
import { Mat } from "./mat.tsx";
import { RecentStrip } from "./recent-strip.tsx";
import type { Slot } from "./studio-store.ts";
import { UploadInFrame } from "./upload-in-frame.tsx";
import type { SlotState } from "./inputs.tsx";

interface Props {
  readonly slot: Slot;
  readonly state: SlotState;
  readonly children: ReactNode;
}

function FrameContent({ slot, state }: Pick<Props, "slot" | "state">) {
  const t = useTranslations("studio");
  const { data: image } = useImage(state.imageId);
  if (state.upload !== undefined)
    return <UploadInFrame upload={state.upload} onCancel={state.cancelUpload} />;
  if (state.imageId === null) return <EmptyFrame slot={slot} onFile={state.put} />;
  return (
    <Picture
      key={state.imageId}
      imageId={state.imageId}
      variant="preview"
      thumbhash={image?.thumbhash}
      alt={image?.title || t(`slots.${slot}`)}
      fit="contain"
      eager
      className="size-full min-h-0"
    />
  );
}

/** The frame of the person or of the garment, with what belongs to it below. */
export function InputFrame({ slot, state, children }: Props) {
  const t = useTranslations("studio");
  const { data: image } = useImage(state.imageId);
  const isEmpty = state.imageId === null && state.upload === undefined;
  const paste = (event: ClipboardEvent) => {
    const [file] = filesOf(event.clipboardData);
    if (file === undefined) return;
    event.preventDefault();
    state.put(file);
  };
  return (
    <section aria-labelledby={`frame-${slot}`} onPaste={paste} className="flex min-w-0 flex-col gap-3">
      <FrameHeader id={`frame-${slot}`} title={t(`slots.${slot}`)}>
        {isEmpty ? null : (
          <IconButton label={t(`remove.${slot}`)} onClick={state.clear} className="-my-2">
            <X aria-hidden />
          </IconButton>
        )}
      </FrameHeader>
      <Mat isEmpty={isEmpty} proportion={frameProportion(image)} onFile={state.put}>
        <FrameContent slot={slot} state={state} />
      </Mat>
      {children}
      <RecentStrip slot={slot} chosenId={state.imageId} onChoose={state.choose} />
    </section>
  );
}
