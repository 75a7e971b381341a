"use client";
import { Upload } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "../ui/button.tsx";
import { useFilePicker } from "../uploads/use-file-picker.ts";
import { useUploadBatch } from "../uploads/use-upload-batch.ts";

export function UploadButton() {
  const t = useTranslations("uploads");
  const pick = useFilePicker(useUploadBatch());
  return (
    <Button onClick={() => pick({ multiple: true })}>
      <Upload aria-hidden />
      {t("upload")}
    </Button>
  );
}
