"use client";
import { useSearchParams } from "next/navigation";
import { useCallback, useMemo } from "react";

export interface ViewerAddress {
  readonly imageId: string | null;
  readonly open: (id: string) => void;
  /** Goes to another picture without a new step in the history. */
  readonly move: (id: string) => void;
  readonly close: () => void;
  /** What the address says now; while one picture changes into the next it is ahead of what is drawn. */
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

/** Which picture is open stands in the address, so that Back closes it and a link leads to it. */
export function useViewerAddress(): ViewerAddress {
  const imageId = useSearchParams().get("image");
  const open = useCallback((id: string) => window.history.pushState(null, "", address(id)), []);
  const move = useCallback((id: string) => window.history.replaceState(null, "", address(id)), []);
  const close = useCallback(() => window.history.replaceState(null, "", address(null)), []);
  return useMemo(() => ({ imageId, open, move, close, currentId }), [close, imageId, move, open]);
}
