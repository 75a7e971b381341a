"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useCallback } from "react";
import { toastFailure } from "../ui/toasts.ts";
import { maxUploadsAtOnce } from "./check-file.ts";
import { addUpload, dropUpload } from "./store.ts";

/** Uploads a batch into the gallery; more than 20 files are refused before one of them is read. */
export function useUploadBatch(): (files: readonly File[]) => void {
  const t = useTranslations("uploads");
  const queries = useQueryClient();
  return useCallback(
    (files) => {
      if (files.length > maxUploadsAtOnce) {
        toastFailure(
          t("tooManyTitle", { max: maxUploadsAtOnce }),
          t("tooManyText", { count: files.length, max: maxUploadsAtOnce }),
        );
        return;
      }
      for (const file of files) {
        const id = addUpload(file, () => {
          dropUpload(id);
          void queries.invalidateQueries({ queryKey: ["images", "list"] });
        });
      }
    },
    [queries, t],
  );
}
