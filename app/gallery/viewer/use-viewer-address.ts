"use client";
import { useSearchParams } from "next/navigation";
import { useCallback, useMemo } from "react";

export interface ViewerAddress {
  readonly imageId: string | null;
  readonly open: (id: string) => void;
  /** Goes to another picture without a new step in the history. */
  readonly move: (id: string) => void;
  readonly close: () => void;
}

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
  return useMemo(() => ({ imageId, open, move, close }), [close, imageId, move, open]);
}
