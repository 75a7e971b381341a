"use client";
import { Download, FileCog, FileImage } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ComponentProps, useState } from "react";
import { readDraft, writeDraft } from "../client/leaving.ts";
import { useCapabilities } from "../client/queries.ts";
import { saveFile } from "../client/save.ts";
import { downloadUrl, zipUrl } from "../client/urls.ts";
import { Menu, MenuItem } from "../ui/overlays.tsx";
import { toastFailure } from "../ui/toasts.tsx";

const smallPx = 2_048;

/** What each way adds to the address of a file or a zip. */
const ways = {
  original: "",
  jpeg: "&format=jpeg",
  webp: "&format=webp",
  small: `&format=jpeg&longestPx=${smallPx}`,
} as const;
type Way = keyof typeof ways;
const allWays: readonly Way[] = ["original", "jpeg", "webp", "small"];

/** In localStorage; it is no draft, and stays when the user signs out. */
const storageKey = "atelier-download";

interface Props extends Pick<ComponentProps<typeof Menu>, "align" | "side" | "trigger"> {
  readonly imageIds: readonly string[];
}

/** Pictures as files, one alone as it is and several as a zip; the way that this browser took last comes first. */
export function DownloadMenu({ imageIds, ...menu }: Props) {
  const t = useTranslations("viewer");
  const gallery = useTranslations("gallery");
  const most = useCapabilities()?.limits.maxBatchJobs ?? Infinity;
  const [last, setLast] = useState(() => readDraft(storageKey));
  const save = (added: string) => {
    const [first = "", second] = imageIds;
    if (imageIds.length > most) toastFailure(gallery("zipTooMany", { count: most }));
    else saveFile((second === undefined ? downloadUrl(first) : zipUrl(imageIds)) + added);
  };
  const take = (way: Way) => {
    writeDraft(storageKey, way);
    setLast(way);
    save(ways[way]);
  };
  const names: Readonly<Record<Way, string>> = {
    original: t("download"),
    jpeg: t("asFormat", { format: "JPEG" }),
    webp: t("asFormat", { format: "WebP" }),
    small: t("asSmall", { pixels: smallPx }),
  };
  return (
    <Menu {...menu}>
      {allWays
        .toSorted((one, other) => Number(other === last) - Number(one === last))
        .map((way) => (
          <MenuItem key={way} onSelect={() => take(way)}>
            {way === "original" ? <Download aria-hidden /> : <FileImage aria-hidden />}
            {names[way]}
          </MenuItem>
        ))}
      <MenuItem onSelect={() => save("&settings=1")}>
        <FileCog aria-hidden />
        {t("withSettings")}
      </MenuItem>
    </Menu>
  );
}
