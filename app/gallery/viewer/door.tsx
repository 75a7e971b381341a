"use client";
import { useSearchParams } from "next/navigation";
import { useCallback, useMemo } from "react";
import type { ImageView } from "@atelier/server/images";
import { useFailureToast } from "../../ui/failures.ts";
import { later } from "../../ui/later.tsx";

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

/** The open picture is stored in the URL, so that Back closes the viewer and links to a picture work. */
export function useViewerAddress(): ViewerAddress {
  const imageId = useSearchParams().get("image");
  const open = useCallback((id: string) => window.history.pushState(null, "", address(id)), []);
  const move = useCallback((id: string) => window.history.replaceState(null, "", address(id)), []);
  const close = useCallback(() => window.history.replaceState(null, "", address(null)), []);
  return useMemo(() => ({ imageId, open, move, close, currentId }), [close, imageId, move, open]);
}

export interface ViewerProps {
  readonly images: readonly ImageView[];
  readonly address: ViewerAddress;
  /** Shows each picture beside what it was made from, where there is something. */
  readonly compares?: boolean;
  /** `images` has one picture of each stack; the others are in a strip. */
  readonly stacks?: boolean;
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
