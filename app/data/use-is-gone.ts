"use client";
import { failureOf } from "../client/failures.ts";
import { useImage } from "./use-image.ts";

/** Whether a picture was deleted; a server that is away says nothing about that. */
export function useIsGone(id: string | null): boolean {
  const { error } = useImage(id);
  return error !== null && failureOf(error).code === "not_found";
}
