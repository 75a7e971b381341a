"use client";
import { Camera, CircleAlert, ClipboardPaste, ImagePlus, Images, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ClipboardEvent, type DragEvent, type ReactNode, useCallback, useState } from "react";
import { useFailureText } from "../ui/failures.ts";
import { useImage } from "../client/queries.ts";
import { FromGallery } from "../pictures/from-gallery.tsx";
import { Picture } from "../pictures/picture.tsx";
import { Button, cx, IconButton } from "../ui/button.tsx";
import { Progress } from "../ui/progress.tsx";
import { filesOf, pastedFiles } from "../uploads/collect.ts";
import { carriesFiles, useFilePicker } from "../uploads/drop.tsx";
import { canScaleDown, retryUploads, type Upload } from "../uploads/store.ts";
import { RecentStrip, SampleRow, WardrobeStrip, type SlotState, usePasteButton } from "./inputs.tsx";
import type { Slot } from "./state.ts";

/** A frame without a picture: buttons to upload, paste or choose one. */
function EmptyFrame({ slot, state: { put: onFile, choose } }: Pick<InputFrameProps, "slot" | "state">) {
  const t = useTranslations("studio");
  const picker = useTranslations("picker");
  const takeFirst = useCallback(
    (files: File[]) => {
      const [first] = files;
      if (first !== undefined) onFile(first);
    },
    [onFile],
  );
  const pick = useFilePicker(takeFirst);
  const paste = usePasteButton(takeFirst);
  return (
    <div className="flex size-full flex-col items-center justify-center gap-6 p-6 text-center max-sm:justify-start max-sm:gap-4 max-sm:px-2.5 max-sm:py-4 wide:max-xl:gap-4 wide:max-xl:p-4">
      <div className="flex flex-col items-center gap-1.5">
        <p className="font-serif text-lg max-sm:text-base">{t(`empty.${slot}.title`)}</p>
        <p className="max-w-[30ch] text-xs text-quiet">{t(`empty.${slot}.text`)}</p>
      </div>
      <div className="flex flex-wrap justify-center gap-2">
        <Button
          size="small"
          className="h-auto! min-h-8 max-w-full whitespace-normal! max-sm:gap-1 max-sm:px-1.5"
          onClick={() => pick()}
        >
          <ImagePlus aria-hidden />
          {t(`empty.${slot}.choose`)}
        </Button>
        <FromGallery leftOut={[]} most={1} onChoose={([id = ""]) => choose(id)}>
          {(open) => (
            <Button size="small" look="quiet" onClick={open}>
              <Images aria-hidden />
              {picker("open")}
            </Button>
          )}
        </FromGallery>
        <Button size="small" look="quiet" onClick={paste}>
          <ClipboardPaste aria-hidden />
          {t("paste")}
        </Button>
        <Button
          size="small"
          look="quiet"
          className="pointer-fine:hidden"
          onClick={() => pick({ camera: true })}
        >
          <Camera aria-hidden />
          {t("camera")}
        </Button>
      </div>
      <SampleRow slot={slot} onFile={onFile} />
    </div>
  );
}

interface FrameHeaderProps {
  readonly id: string;
  readonly title: string;
  readonly className?: string;
  readonly children?: ReactNode;
}

export function FrameHeader({ id, title, className, children }: FrameHeaderProps) {
  return (
    <div className={cx("flex h-5 items-center justify-between gap-2", className)}>
      <h2 id={id} className="text-sm font-medium">
        {title}
      </h2>
      {children}
    </div>
  );
}

interface Sized {
  readonly widthPx: number;
  readonly heightPx: number;
}

const whenEmpty = 0.8;
const tallest = 0.66;
const widest = 1.5;

/** Width ÷ height of a frame: that of its picture, limited to 2:3 to 3:2. */
export function frameProportion(picture: Sized | undefined): number {
  if (picture === undefined) return whenEmpty;
  return Math.min(widest, Math.max(tallest, picture.widthPx / picture.heightPx));
}

interface PictureGroundProps {
  readonly isEmpty: boolean;
  /** Width ÷ height. */
  readonly proportion: number;
  readonly onFile?: (file: File) => void;
  readonly className?: string;
  readonly children: ReactNode;
}

/** The background of a picture; accepts a dropped file. */
export function PictureGround({ isEmpty, proportion, onFile, className, children }: PictureGroundProps) {
  const [isOver, setOver] = useState(false);
  const takesDrops = onFile !== undefined;
  const over = (event: DragEvent) => {
    if (takesDrops && carriesFiles(event.dataTransfer)) setOver(true);
  };
  const drop = (event: DragEvent) => {
    setOver(false);
    const [file] = filesOf(event.dataTransfer);
    if (!takesDrops || file === undefined) return;
    event.preventDefault();
    onFile(file);
  };
  return (
    <div
      onDragOver={over}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      style={{ aspectRatio: proportion }}
      className={cx(
        "relative flex w-full items-center justify-center overflow-hidden rounded-card transition-colors duration-150 wide:max-h-[max(380px,calc(100dvh-300px))] wide:min-h-50",
        isEmpty
          ? "border border-dashed border-edge/60 bg-well/60 aspect-auto! max-wide:min-h-56 wide:min-h-90 xl:min-h-[clamp(340px,calc(100dvh-330px),760px)] xl:in-[:root:has([data-hints])]:min-h-[clamp(340px,calc(100dvh-430px),760px)]"
          : "border border-line bg-surface p-2.5 max-wide:max-h-[130vw]",
        isOver && "border-solid border-accent bg-accent-tint",
        className,
      )}
    >
      {children}
    </div>
  );
}

/** Sends the file again, scaled down where it is too large; nothing for one that no further try would take. */
function RetryButton({ upload }: { readonly upload: Upload }) {
  const t = useTranslations("uploads");
  const scalesDown = canScaleDown(upload);
  if (!scalesDown && upload.failure?.code.startsWith("upload_")) return null;
  return (
    <Button size="small" onClick={() => retryUploads([upload.id], { scalesDown })}>
      {t(scalesDown ? "scaleDown" : "retry")}
    </Button>
  );
}

interface UploadInFrameProps {
  readonly upload: Upload;
  readonly onCancel: () => void;
}

/** A running upload, or the reason for its failure. */
function UploadInFrame({ upload, onCancel }: UploadInFrameProps) {
  const t = useTranslations("uploads");
  const textOf = useFailureText();
  const failure = upload.failure === null ? null : textOf(upload.failure);
  if (failure !== null) {
    return (
      <div role="alert" className="flex max-w-[40ch] flex-col items-center gap-3 p-6 text-center">
        <CircleAlert className="size-5 text-fail" aria-hidden />
        <p className="text-sm font-medium">{failure.title}</p>
        <p className="text-xs text-quiet">{failure.advice}</p>
        <div className="mt-2 flex gap-2">
          <RetryButton upload={upload} />
          <Button size="small" onClick={onCancel}>
            {t("chooseAnother")}
          </Button>
        </div>
      </div>
    );
  }
  return (
    <>
      <img
        src={upload.previewUrl}
        alt=""
        className="absolute inset-2.5 size-[calc(100%-20px)] object-contain opacity-45"
      />
      <div className="relative flex w-56 flex-col items-center gap-3 rounded-card bg-raised p-4 shadow-float">
        <p className="text-xs font-medium">{t("sending")}</p>
        <Progress label={t("sending")} value={upload.progress} className="w-full" />
        <Button size="small" look="quiet" onClick={onCancel}>
          {t("cancel")}
        </Button>
      </div>
    </>
  );
}

/** Below the wide breakpoint the parts of both frames share one grid: pictures side by side, controls below them. */
const places: Record<Slot, Record<"header" | "ground" | "recent" | "controls", string>> = {
  person: {
    header: "max-wide:col-start-1 max-wide:row-start-1",
    ground: "max-wide:col-start-1 max-wide:row-start-2",
    recent: "max-wide:col-start-1 max-wide:row-start-3",
    controls: "max-sm:col-span-2 max-wide:col-start-1 max-wide:row-start-4",
  },
  garment: {
    header: "max-wide:col-start-2 max-wide:row-start-1",
    ground: "max-wide:col-start-2 max-wide:row-start-2",
    recent: "max-wide:col-start-2 max-wide:row-start-3",
    controls: "max-sm:col-span-2 max-sm:row-start-5 sm:max-wide:col-start-2 sm:max-wide:row-start-4",
  },
};

interface InputFrameProps {
  readonly slot: Slot;
  readonly state: SlotState;
  readonly children: ReactNode;
}

function FrameContent({ slot, state }: Pick<InputFrameProps, "slot" | "state">) {
  const t = useTranslations("studio");
  const { data: image } = useImage(state.imageId);
  if (state.upload !== undefined)
    return <UploadInFrame upload={state.upload} onCancel={state.cancelUpload} />;
  if (state.imageId === null) return <EmptyFrame slot={slot} state={state} />;
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

/** The frame of the person or of the garment; `children` are shown below the picture. */
export function InputFrame({ slot, state, children }: InputFrameProps) {
  const t = useTranslations("studio");
  const picker = useTranslations("picker");
  const { data: image } = useImage(state.imageId);
  const isEmpty = state.imageId === null && state.upload === undefined;
  const place = places[slot];
  const paste = (event: ClipboardEvent) => {
    const [file] = pastedFiles(event);
    if (file === undefined) return;
    event.preventDefault();
    state.put(file);
  };
  return (
    <section
      aria-labelledby={`frame-${slot}`}
      onPaste={paste}
      className="flex min-w-0 flex-col gap-3 max-wide:contents"
    >
      <FrameHeader id={`frame-${slot}`} title={t(`slots.${slot}`)} className={place.header}>
        {isEmpty ? null : (
          <span className="-my-2 flex">
            <FromGallery
              leftOut={state.imageId === null ? [] : [state.imageId]}
              most={1}
              onChoose={([id = ""]) => state.choose(id)}
            >
              {(open) => (
                <IconButton label={picker("open")} onClick={open}>
                  <Images aria-hidden />
                </IconButton>
              )}
            </FromGallery>
            <IconButton label={t(`remove.${slot}`)} onClick={state.clear}>
              <X aria-hidden />
            </IconButton>
          </span>
        )}
      </FrameHeader>
      <PictureGround
        isEmpty={isEmpty}
        proportion={frameProportion(image)}
        onFile={state.put}
        className={cx(place.ground, "max-wide:self-stretch", !isEmpty && "max-wide:aspect-4/5!")}
      >
        <FrameContent slot={slot} state={state} />
      </PictureGround>
      <div className={cx("flex min-w-0 flex-col gap-3", place.controls)}>{children}</div>
      <div className={cx("flex min-w-0 flex-col gap-2 empty:hidden", place.recent)}>
        <WardrobeStrip slot={slot} chosenId={state.imageId} onChoose={state.choose} />
        <RecentStrip slot={slot} chosenId={state.imageId} onChoose={state.choose} />
      </div>
    </section>
  );
}
