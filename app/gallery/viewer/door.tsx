"use client";
import { useSearchParams } from "next/navigation";
import { useMemo } from "react";
import type { ImageView } from "@atelier/server/images";
import { useFailureToast } from "../../ui/failures.ts";
import { later } from "../../ui/later.tsx";
import type { GalleryWindow } from "../window.ts";

export interface ViewerAddress {
  readonly imageId: string | null;
  readonly open: (id: string) => void;
  /** Shows another picture without a new entry in the browser history. */
  readonly move: (id: string) => void;
  readonly close: () => void;
  /** Image id in the URL; during a transition the rendered picture may still be the previous one. */
  readonly currentId: () => string | null;
}

const currentId = () => new URLSearchParams(window.location.search).get("image");

function address(imageId: string | null): string {
  const params = new URLSearchParams(window.location.search);
  if (imageId === null) params.delete("image");
  else params.set("image", imageId);
  const query = params.toString();
  return query === "" ? window.location.pathname : `?${query}`;
}

/** The entry that is made is known again by its state, as long as it shows that picture. A double click opens once. */
function open(id: string): void {
  if (currentId() !== id) window.history.pushState({ isOpened: true }, "", address(id));
}

const move = (id: string) => window.history.replaceState(null, "", address(id));

/**
 * Closes the viewer by going back, so that a closed picture leaves no entry in the history. After a move to another picture
 * it only changes the address: going back would scroll the grid to the first one.
 */
function close(): void {
  const isOpened = window.history.state?.isOpened === true;
  // A second click, before the browser has gone back, goes no further.
  window.history.replaceState(null, "", address(isOpened ? currentId() : null));
  if (isOpened) window.history.back();
}

/** The open picture is stored in the URL, so that Back closes the viewer and links to a picture work. */
export function useViewerAddress(): ViewerAddress {
  const imageId = useSearchParams().get("image");
  return useMemo(() => ({ imageId, open, move, close, currentId }), [imageId]);
}

/** What of the gallery's list is read, and how many pictures it has in each month; null where they are not counted. */
export type GalleryPart = Pick<GalleryWindow, "firstIndex" | "isFromNewest" | "isToOldest" | "months">;

export interface ViewerProps {
  readonly images: readonly ImageView[];
  readonly address: ViewerAddress;
  /** Shows each picture beside what it was made from, where there is something. */
  readonly compares?: boolean;
  /** Of the gallery's list, if `images` are its: they have one picture of each stack, whose others are in a strip. */
  readonly part?: GalleryPart;
}

const Box = later(async () => (await import("./viewer.tsx")).ViewerBox);

/** The viewer over the grid; closing returns the focus to the tile of the picture. */
export function Viewer(props: ViewerProps) {
  const showFailure = useFailureToast();
  const { imageId, close } = props.address;
  const onFailure = (error: unknown) => {
    close();
    showFailure(error);
  };
  return <Box isWanted={imageId !== null} onFailure={onFailure} props={props} />;
}
