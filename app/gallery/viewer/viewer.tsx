"use client";
import { Dialog } from "@base-ui/react/dialog";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { ImageView } from "@atelier/server/images";
import { imageQuery, useImage, useIsGone } from "../../client/queries.ts";
import { remixHref } from "../../client/remix.ts";
import { useSourceImage } from "../../client/source.ts";
import { isTyping } from "../../parts/run-button.tsx";
import { useRemoveImages } from "../../pictures/actions.tsx";
import { isCopyKey, useCopyPicture } from "../../pictures/copy.tsx";
import { useRate, useStar } from "../../pictures/marks.tsx";
import { ratingOfKey } from "../../pictures/rating.tsx";
import { turnOfKey, type Turns, useTurn } from "../../pictures/turn.tsx";
import { belongsElsewhere } from "../../pictures/zoom.ts";
import { useFailureToast } from "../../ui/failures.ts";
import { isCombined, keyOnce } from "../../ui/key-press.ts";
import { later } from "../../ui/later.tsx";
import type { GalleryPart, ViewerAddress, ViewerProps } from "./door.tsx";
import { ViewerInfo } from "./info.tsx";
import { ViewerPicture } from "./picture.tsx";
import { usePlaces } from "./places.ts";
import { StackStrip, useChooseTop, useCompareStack, ViewerToolbar } from "./toolbar.tsx";

const Slideshow = later(async () => (await import("./slideshow.tsx")).Slideshow);

interface Options {
  readonly image: ImageView;
  readonly onStep: (by: number) => void;
  /** To another picture of the same stack. */
  readonly onStepInStack: (by: number) => void;
  readonly onRemoved: () => void;
  /** Compares the pictures of its stack. */
  readonly onCompare: () => void;
  /** Chooses it to show its stack. */
  readonly onTop: () => void;
  readonly onTurn: (turns: Turns) => void;
  readonly onInfo: (next: (isOpen: boolean) => boolean) => void;
  readonly onSlideshow: () => void;
  /** The keys are those of what is shown above. */
  readonly isCovered: boolean;
}

function useViewerKeys(options: Options): void {
  const {
    image,
    onStep,
    onStepInStack,
    onRemoved,
    onCompare,
    onTop,
    onTurn,
    onInfo,
    onSlideshow,
    isCovered,
  } = options;
  const star = useStar();
  const rate = useRate();
  const remove = useRemoveImages();
  const copy = useCopyPicture();
  // With the picture itself: a key that is pressed when it is seen is for this one.
  useLayoutEffect(() => {
    if (isCovered) return undefined;
    const keys: Record<string, () => void> = {
      ArrowLeft: () => onStep(-1),
      ArrowRight: () => onStep(1),
      ArrowUp: () => onStepInStack(-1),
      ArrowDown: () => onStepInStack(1),
      c: onCompare,
      t: onTop,
      i: () => onInfo((isOpen) => !isOpen),
      p: onSlideshow,
      s: () => star.mutate({ images: [image], value: !image.starred }),
      Delete: () => {
        remove([image.id]);
        onRemoved();
      },
    };
    const press = (event: KeyboardEvent) => {
      // The zoom has taken it.
      if (event.defaultPrevented) return;
      if (isCopyKey(event) && !isTyping(event)) {
        event.preventDefault();
        copy(image.id);
      }
      if (isTyping(event) || isCombined(event) || belongsElsewhere(event)) return;
      const key = keyOnce(event);
      const rating = ratingOfKey(key);
      const turns = turnOfKey(key);
      if (turns !== null) onTurn(turns);
      else if (rating === null) keys[key]?.();
      else rate.mutate({ images: [image], value: rating });
    };
    // In the capture phase: the dialog stops arrow keys in the bubble phase.
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, [
    copy,
    image,
    isCovered,
    onCompare,
    onInfo,
    onRemoved,
    onSlideshow,
    onStep,
    onStepInStack,
    onTop,
    onTurn,
    rate,
    remove,
    star,
  ]);
}

/** Whether a picture is shown beside its source: what the user chose for this one, else what the page does. */
function useComparing(imageId: string, compares: boolean) {
  const [chosen, setChosen] = useState<{ readonly imageId: string; readonly compares: boolean } | null>(null);
  const isComparing = chosen?.imageId === imageId ? chosen.compares : compares;
  return { isComparing, toggle: () => setChosen({ imageId, compares: !isComparing }) };
}

interface ViewerRoomProps {
  readonly image: ImageView;
  readonly images: readonly ImageView[];
  readonly grows: boolean;
  readonly address: ViewerAddress;
  readonly compares: boolean;
  readonly part: GalleryPart | undefined;
}

/** The second click of a double click on the button that closes the viewer is not for what lies below it. */
function spendSecondClick(): void {
  const spend = (event: MouseEvent) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopPropagation();
  };
  window.addEventListener("click", spend, { capture: true, once: true });
}

/** Shows what became of the picture, if that is still the one in the viewer; read first, so that nothing blinks. */
function useShowTurned({ currentId, move }: ViewerAddress) {
  const queries = useQueryClient();
  return (fromId: string, toId: string) => {
    const show = () => {
      if (currentId() === fromId) move(toId);
    };
    return queries.prefetchQuery(imageQuery(toId)).then(show);
  };
}

function ViewerRoom(props: ViewerRoomProps) {
  const { image, grows, address, compares } = props;
  const { isComparing, toggle } = useComparing(image.id, compares);
  const [isInfoOpen, setInfoOpen] = useState(false);
  const [isShowing, setShowing] = useState(false);
  const showFailure = useFailureToast();
  const startShow = () => setShowing(true);
  const endShow = () => setShowing(false);
  const { job, sourceId } = useSourceImage(image);
  const isSourceGone = useIsGone(sourceId);
  const places = usePlaces(props);
  const { previous, next, afterRemoval } = places;
  const compareStack = useCompareStack(places.members, image.id);
  const top = useChooseTop(places.members, image);
  const turnAll = useTurn(useShowTurned(address));
  const turn = (turns: Turns) => turnAll([image.id], turns);
  useViewerKeys({
    image,
    onStep: places.step,
    onStepInStack: places.stepInStack,
    onRemoved: afterRemoval,
    onCompare: compareStack,
    onTop: top.toggle,
    onTurn: turn,
    onInfo: setInfoOpen,
    onSlideshow: startShow,
    isCovered: isShowing,
  });
  return (
    <>
      <div inert={isShowing} className="flex min-h-0 min-w-0 flex-1 flex-col">
        <ViewerToolbar
          image={image}
          position={places.position}
          remix={job === undefined || isSourceGone ? null : remixHref(image.id, job)}
          canCompare={job === undefined ? null : sourceId !== null}
          isComparing={isComparing}
          isInfoOpen={isInfoOpen}
          onCompare={toggle}
          onInfo={() => setInfoOpen((on) => !on)}
          onClose={() => {
            spendSecondClick();
            address.close();
          }}
          onRemoved={afterRemoval}
          onTurn={turn}
          onSlideshow={startShow}
        />
        <ViewerPicture
          image={image}
          compareWith={isComparing ? sourceId : null}
          grows={grows}
          previous={previous}
          next={next}
          onMove={address.move}
          onClose={address.close}
        />
        {places.members.length < 2 ? null : (
          <StackStrip
            stack={places.stack}
            members={places.members}
            shownId={image.id}
            onShow={address.move}
            chosenId={top.chosenId}
            onCompare={compareStack}
            onTop={top.toggle}
          />
        )}
      </div>
      {isInfoOpen && !isShowing ? <ViewerInfo key={image.id} image={image} /> : null}
      <Slideshow
        isWanted={isShowing}
        isShown={isShowing}
        onFailure={(error) => {
          endShow();
          showFailure(error);
        }}
        props={{ image, next, onStep: places.step, onEnd: endShow }}
      />
    </>
  );
}

/** The picture with which the viewer was opened: only its tile takes part in the opening and closing animation. */
function useOpenedId(imageId: string | null): string | null {
  const [shownId, setShownId] = useState(imageId);
  const [openedId, setOpenedId] = useState(imageId);
  if (shownId !== imageId) {
    setShownId(imageId);
    if (shownId === null || imageId === null) setOpenedId(imageId);
  }
  return openedId;
}

/** What `Viewer` shows once it is loaded. */
export function ViewerBox({ images, address, compares = false, part }: ViewerProps) {
  const t = useTranslations("viewer");
  const { imageId, close } = address;
  const openedId = useOpenedId(imageId);
  const listed = images.find((image) => image.id === imageId);
  const { data, isError } = useImage(imageId);
  const image = listed ?? data;
  const last = useRef(image);
  useEffect(() => {
    if (image !== undefined) last.current = image;
  }, [image]);
  const tile = () => {
    const find = (name: string, id = "") => document.querySelector<HTMLElement>(`[data-${name}="${id}"]`);
    return find("tile", last.current?.id) ?? find("stack", last.current?.stackId);
  };
  return (
    <Dialog.Root open={imageId !== null} onOpenChange={(open) => open || close()}>
      <Dialog.Portal>
        <Dialog.Popup
          data-viewer
          finalFocus={() => tile() ?? true}
          className="stage room fixed inset-0 z-50 flex flex-col outline-none wide:flex-row"
        >
          <Dialog.Title className="sr-only">{t("title")}</Dialog.Title>
          {image === undefined ? null : (
            <ViewerRoom
              image={image}
              grows={image.id === openedId}
              images={images}
              address={address}
              compares={compares}
              part={part}
            />
          )}
          {isError && image === undefined ? (
            <div className="m-auto flex flex-col items-center gap-4 text-sm">
              <p>{t("missing")}</p>
              <button type="button" onClick={close} className="underline underline-offset-4">
                {t("close")}
              </button>
            </div>
          ) : null}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
