"use client";
import type { ImageView } from "@atelier/server/images";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { api } from "../../client/api.ts";
import { keys } from "../../data/keys.ts";
import { useFailureToast } from "../../data/use-failure-toast.ts";
import { Field } from "../../ui/field.tsx";

/** Where the server cuts it. */
const titleCharacters = 120;

export function TitleField({ image }: { readonly image: ImageView }) {
  const t = useTranslations("viewer");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [title, setTitle] = useState(image.title);
  const rename = useMutation({
    mutationFn: () => api.images.rename.mutate({ id: image.id, title: title.trim() }),
    onSuccess: (renamed) => {
      queries.setQueryData(keys.image(renamed.id), renamed);
      return queries.invalidateQueries({ queryKey: ["images", "list"] });
    },
    onError,
  });
  const save = () => {
    if (title.trim() !== image.title) rename.mutate();
  };
  return (
    <Field
      name="title"
      label={t("titleLabel")}
      placeholder={t("titleHint")}
      maxLength={titleCharacters}
      value={title}
      onValueChange={setTitle}
      onBlur={save}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}
