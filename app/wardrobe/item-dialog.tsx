"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { garmentCategories, type GarmentCategory } from "@atelier/server/wardrobe-names";
import { api } from "../client/api.ts";
import { useFailureToast } from "../ui/failures.ts";
import { keys } from "../client/queries.ts";
import { Picture } from "../pictures/picture.tsx";
import { Button } from "../ui/button.tsx";
import { Checkbox, Field } from "../ui/fields.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { Select } from "../ui/select.tsx";
import { useStateConsent, type WardrobeItem } from "../client/wardrobe.ts";

const maxTags = 20;
const choices = ["none", ...garmentCategories] as const;

function tagsOf(text: string): string[] {
  const tags = text.split(",").map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ""))].slice(0, maxTags);
}

interface Draft {
  readonly name: string;
  readonly tags: string;
  readonly category: GarmentCategory | "none";
  readonly consents: boolean;
}

function useSaveItem(item: WardrobeItem, onSaved: () => void) {
  const queries = useQueryClient();
  const showFailure = useFailureToast();
  const { mutateAsync: state } = useStateConsent();
  return useMutation({
    mutationFn: async ({ name, tags, category, consents }: Draft) => {
      if (consents && !item.hasConsent) await state({ imageId: item.imageId, isStated: true });
      return api.wardrobe.change.mutate({
        id: item.id,
        name,
        tags: tagsOf(tags),
        ...(item.what === "garment" ? { category: category === "none" ? null : category } : {}),
      });
    },
    onSuccess: onSaved,
    onError: showFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: keys.wardrobe }),
  });
}

interface Props {
  readonly item: WardrobeItem;
  readonly onClose: () => void;
}

/** What is said of an item: name, category, tags, and of a person the consent. */
export function ItemDialog({ item, onClose }: Props) {
  const t = useTranslations("wardrobe");
  const [draft, setDraft] = useState<Draft>({
    name: item.name,
    tags: item.tags.join(", "),
    category: item.category ?? "none",
    consents: false,
  });
  const save = useSaveItem(item, onClose);
  const { mutate: withdraw, isPending: isStating } = useStateConsent();
  const set = (changes: Partial<Draft>) => setDraft((now) => ({ ...now, ...changes }));
  return (
    <Dialog open onOpenChange={(open) => open || onClose()} title={t(`edit.${item.what}`)}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(draft);
        }}
      >
        <Picture
          imageId={item.imageId}
          variant="preview"
          thumbhash={item.thumbhash}
          alt=""
          fit="contain"
          className="plate h-44 rounded-control"
        />
        <Field
          name="name"
          label={t("name")}
          value={draft.name}
          maxLength={80}
          onChange={(event) => set({ name: event.target.value })}
        />
        {item.what === "garment" ? (
          <Select
            label={t("category")}
            value={draft.category}
            onChange={(next) => set({ category: choices.find((one) => one === next) ?? "none" })}
            options={choices.map((value) => ({ value, title: t(`categories.${value}`) }))}
          />
        ) : null}
        <Field
          name="tags"
          label={t("tags")}
          hint={t("tagsHint")}
          value={draft.tags}
          onChange={(event) => set({ tags: event.target.value })}
        />
        {item.what === "person" && !item.hasConsent ? (
          <Checkbox checked={draft.consents} onChange={(consents) => set({ consents })}>
            {t("consent")}
          </Checkbox>
        ) : null}
        {item.what === "person" && item.hasConsent ? (
          <div className="flex flex-col items-start gap-2 text-sm">
            <p>{t("consentGiven")}</p>
            <Button
              size="small"
              disabled={isStating}
              onClick={() => withdraw({ imageId: item.imageId, isStated: false })}
            >
              {t("withdrawConsent")}
            </Button>
          </div>
        ) : null}
        <div className="mt-2 flex justify-end gap-2">
          <Button look="quiet" onClick={onClose}>
            {t("cancel")}
          </Button>
          <Button look="primary" type="submit" disabled={save.isPending}>
            {t("save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
