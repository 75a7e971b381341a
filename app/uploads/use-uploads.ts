"use client";
import { useSyncExternalStore } from "react";
import { uploadList, watchUploads, type Upload } from "./store.ts";

const none: readonly Upload[] = [];

export function useUploads(): readonly Upload[] {
  return useSyncExternalStore(watchUploads, uploadList, () => none);
}

export function useUpload(id: string | null): Upload | undefined {
  return useUploads().find((upload) => upload.id === id);
}
