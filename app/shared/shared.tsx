"use client";
import { ImageIcon, Upload } from "lucide-react";
import { useTranslations } from "next-intl";
import Link from "next/link";
import { useRouter, useSearchParams } from "next/navigation";
import { useCallback, useEffect, useState } from "react";
import { forgetShared, sharedStore } from "../client/leaving.ts";
import { PageHeader } from "../parts/page-parts.tsx";
import { Button, buttonStyle } from "../ui/button.tsx";
import { EmptyState } from "../ui/display.tsx";
import { toastWithUndo } from "../ui/toasts.tsx";
import { useUploadWithOffer } from "../uploads/drop.tsx";

/** The photos that `public/share-worker.js` keeps, in the order in which they came; none where the browser blocks its storage. */
async function readShared(): Promise<File[]> {
  try {
    const store = await caches.open(sharedStore);
    const files = (await store.keys()).map(async (request) => {
      const photo = await (await store.match(request))?.blob();
      const name = decodeURIComponent(new URL(request.url).pathname.split("/").at(-1) ?? "");
      return photo && new File([photo], name, { type: photo.type });
    });
    return (await Promise.all(files)).filter((file) => file !== undefined);
  } catch {
    return [];
  }
}

async function keepAgain(files: readonly File[]): Promise<void> {
  const store = await caches.open(sharedStore);
  for (const [at, file] of files.entries())
    await store.put(`/shared/${Date.now()}/${at}/${encodeURIComponent(file.name)}`, new Response(file));
}

/** A photo as it will go up. Few browsers show HEIC: there it has a sign, and its name. */
function Photo({ file }: { readonly file: File }) {
  const [isReadable, setReadable] = useState(true);
  const show = useCallback(
    (image: HTMLImageElement) => {
      const url = URL.createObjectURL(file);
      image.src = url;
      return () => URL.revokeObjectURL(url);
    },
    [file],
  );
  return (
    <li className="flex min-w-0 flex-col gap-1.5">
      <span className="flex aspect-square items-center justify-center overflow-hidden bg-well">
        {isReadable ? (
          <img ref={show} alt="" className="size-full object-cover" onError={() => setReadable(false)} />
        ) : (
          <ImageIcon className="size-6 text-quiet" aria-hidden />
        )}
      </span>
      <span className="truncate text-xs text-quiet">{file.name}</span>
    </li>
  );
}

/** Why there is nothing: the worker was not there yet, or could not store it. */
const reasons = ["early", "room"] as const;

function NothingShared() {
  const t = useTranslations("shared");
  const lost = useSearchParams().get("lost");
  const reason = reasons.find((name) => name === lost) ?? "none";
  return (
    <EmptyState title={t(`nothing.${reason}.title`)} text={t(`nothing.${reason}.text`)}>
      <Link href="/gallery" className={buttonStyle("plain")}>
        {t("toGallery")}
      </Link>
    </EmptyState>
  );
}

/**
 * What another app shared with the studio, before it goes up. Nothing goes up by itself: a page of another site can send files to the
 * worker, too.
 */
export function Shared() {
  const t = useTranslations("shared");
  const router = useRouter();
  const upload = useUploadWithOffer();
  const [files, setFiles] = useState<readonly File[] | null>(null);
  useEffect(() => void readShared().then(setFiles), []);
  const send = () => {
    upload(files ?? []);
    void forgetShared();
    router.push("/gallery");
  };
  const discard = (discarded: readonly File[]) => {
    setFiles([]);
    void forgetShared();
    const undo = () => {
      setFiles(discarded);
      void keepAgain(discarded);
    };
    toastWithUndo({
      title: t("discarded", { count: discarded.length }),
      undoLabel: t("undo"),
      onUndo: undo,
    });
  };
  return (
    <>
      <PageHeader title={t("title")}>
        {files?.length ? (
          <>
            <Button look="quiet" onClick={() => discard(files)}>
              {t("discard")}
            </Button>
            <Button look="primary" onClick={send}>
              <Upload aria-hidden />
              {t("upload", { count: files.length })}
            </Button>
          </>
        ) : null}
      </PageHeader>
      {files?.length ? (
        <div className="px-4 pb-10 sm:px-6 wide:px-8">
          <p className="max-w-[68ch] pb-4 text-sm text-quiet">{t("waiting")}</p>
          <ul className="grid grid-cols-[repeat(auto-fill,minmax(9rem,1fr))] gap-3">
            {files.map((file, at) => (
              <Photo key={`${at} ${file.name} ${file.size}`} file={file} />
            ))}
          </ul>
        </div>
      ) : null}
      {files?.length === 0 ? <NothingShared /> : null}
    </>
  );
}
