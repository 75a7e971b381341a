"use client";
import { CircleAlert } from "lucide-react";
import { useTranslations } from "next-intl";
import { useFailureText } from "../data/use-failure-text.ts";
import { Button } from "../ui/button.tsx";
import { Progress } from "../ui/progress.tsx";
import { retryUpload, type Upload } from "../uploads/store.ts";

interface Props {
  readonly upload: Upload;
  readonly onCancel: () => void;
}

/** A picture on its way up, or why it did not get there. */
export function UploadInFrame({ upload, onCancel }: Props) {
  const t = useTranslations("uploads");
  const textOf = useFailureText();
  const failure = upload.failure === null ? null : textOf(upload.failure);
  if (failure !== null) {
    return (
      <div role="alert" className="flex max-w-[40ch] flex-col items-center gap-3 p-6 text-center">
        <CircleAlert className="size-5 text-fail" aria-hidden />
        <p className="text-sm font-medium">{failure.title}</p>
        <p className="text-xs text-quiet">{failure.advice}</p>
        <div className="mt-2 flex gap-2">
          {upload.failure?.code.startsWith("upload_") ? null : (
            <Button size="small" onClick={() => retryUpload(upload.id)}>
              {t("retry")}
            </Button>
          )}
          <Button size="small" onClick={onCancel}>
            {t("chooseAnother")}
          </Button>
        </div>
      </div>
    );
  }
  return (
    <>
      <img
        src={upload.previewUrl}
        alt=""
        className="absolute inset-2.5 size-[calc(100%-20px)] object-contain opacity-45"
      />
      <div className="relative flex w-56 flex-col items-center gap-3 rounded-card bg-raised p-4 shadow-float">
        <p className="text-xs font-medium">{t("sending")}</p>
        <Progress label={t("sending")} value={upload.progress} className="w-full" />
        <Button size="small" look="quiet" onClick={onCancel}>
          {t("cancel")}
        </Button>
      </div>
    </>
  );
}
