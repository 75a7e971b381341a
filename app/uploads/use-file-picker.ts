"use client";
import { useCallback } from "react";
import { acceptedTypes } from "./check-file.ts";

interface PickerOptions {
  readonly multiple?: boolean;
  readonly camera?: boolean;
}

/** Opens the system's dialog for pictures, or a phone's camera. */
export function useFilePicker(onFiles: (files: File[]) => void) {
  return useCallback(
    ({ multiple = false, camera = false }: PickerOptions = {}) => {
      const input = document.createElement("input");
      input.type = "file";
      input.accept = acceptedTypes;
      input.multiple = multiple;
      if (camera) input.setAttribute("capture", "environment");
      input.addEventListener("change", () => onFiles([...(input.files ?? [])]), { once: true });
      input.click();
    },
    [onFiles],
  );
}
