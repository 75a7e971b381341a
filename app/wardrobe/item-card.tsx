"use client";
import { useQueryClient } from "@tanstack/react-query";
import { Pencil, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useRouter } from "next/navigation";
import { useFailureText } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { useRetryJob } from "../jobs/parts.tsx";
import { canRetryHelp } from "../jobs/text.ts";
import { Picture } from "../pictures/picture.tsx";
import { studio } from "../studio/state.ts";
import { Button, cx, IconButton, Spinner } from "../ui/button.tsx";
import { useRemoveItems } from "../client/wardrobe-changes.ts";
import { isNotWorn, studioCategory, useItemName, type WardrobeItem } from "../client/wardrobe.ts";

/** Opens the studio with the item in its frame. */
function useWear() {
  const router = useRouter();
  return (item: WardrobeItem) => {
    const { what, imageId } = item;
    if (what === "person") studio.set({ personId: imageId, jobId: null });
    else studio.set({ garmentId: imageId, jobId: null, category: studioCategory(item) });
    router.push("/");
  };
}

interface ItemCardProps {
  readonly item: WardrobeItem;
  readonly onEdit: () => void;
}

interface CutOutFailedProps {
  readonly failure: NonNullable<WardrobeItem["cutOutFailure"]>;
  readonly name: string;
}

/** Why a garment is shown in its photo although its cut-out was wished; again where that can help. */
function CutOutFailed({ failure: { jobId, code }, name }: CutOutFailedProps) {
  const t = useTranslations("wardrobe");
  const textOf = useFailureText();
  const queries = useQueryClient();
  const retry = useRetryJob(jobId, () => void queries.invalidateQueries({ queryKey: keys.wardrobe }));
  return (
    <span className="flex flex-col items-start gap-1 text-xs text-warn">
      {code === null
        ? t("notCutOutCancelled")
        : t("notCutOut", { reason: textOf({ code, message: "" }).title })}
      {code === null || canRetryHelp(code) ? (
        <Button
          size="small"
          aria-label={t("retryCutOutOf", { name })}
          disabled={retry.isPending}
          onClick={() => retry.mutate()}
        >
          {t("retryCutOut")}
        </Button>
      ) : null}
    </span>
  );
}

const pictureStyle = "plate block aspect-4/5 w-full overflow-hidden rounded-card ring-1 ring-line";

/** A garment or a person of the wardrobe; a click on the picture wears it in the studio. */
export function ItemCard({ item, onEdit }: ItemCardProps) {
  const t = useTranslations("wardrobe");
  const name = useItemName()(item);
  const wear = useWear();
  const remove = useRemoveItems();
  const picture = (
    <Picture
      imageId={item.imageId}
      variant="thumbnail"
      thumbhash={item.thumbhash}
      alt=""
      fit={item.what === "person" ? "cover" : "contain"}
      className="size-full"
    />
  );
  return (
    <li className="group flex min-w-0 flex-col gap-2">
      <div className="relative">
        {isNotWorn(item) ? (
          <div className={pictureStyle}>{picture}</div>
        ) : (
          <button
            type="button"
            aria-label={t("wear", { name })}
            disabled={item.isBeingCutOut}
            onClick={() => wear(item)}
            className={cx(pictureStyle, "transition duration-150 hover:ring-2 hover:ring-ink")}
          >
            {picture}
          </button>
        )}
        {item.isBeingCutOut ? (
          <p className="pointer-events-none absolute inset-x-0 bottom-0 flex items-center gap-2 rounded-b-card bg-black/65 px-3 py-2 text-xs text-white">
            <Spinner />
            {t("cuttingOut")}
          </p>
        ) : null}
      </div>
      <div className="flex min-w-0 items-start gap-1">
        <span className="min-w-0 flex-1">
          <span className="line-clamp-2 text-sm font-medium">{name}</span>
          <span className={cx("text-xs text-quiet", item.what === "garment" ? "line-clamp-2" : "block")}>
            {item.what === "person" ? t(item.hasConsent ? "agrees" : "notStated") : item.tags.join(", ")}
          </span>
        </span>
        <IconButton label={t("change", { name })} onClick={onEdit}>
          <Pencil aria-hidden />
        </IconButton>
        <IconButton label={t("remove", { name })} onClick={() => remove([item])}>
          <Trash2 aria-hidden />
        </IconButton>
      </div>
      {item.cutOutFailure === null ? null : <CutOutFailed failure={item.cutOutFailure} name={name} />}
      {isNotWorn(item) ? <p className="text-xs text-quiet">{t("notWorn")}</p> : null}
    </li>
  );
}
