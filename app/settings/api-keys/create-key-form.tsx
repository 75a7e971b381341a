"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { api } from "../../client/api.ts";
import { keys } from "../../data/keys.ts";
import { useFailureToast } from "../../data/use-failure-toast.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";

export function CreateKeyForm({ onCreated }: { readonly onCreated: (key: string) => void }) {
  const t = useTranslations("apiKeys");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () => api.apiKeys.create.mutate({ name: name.trim() }),
    onSuccess: ({ key }) => {
      onCreated(key);
      setName("");
      return queries.invalidateQueries({ queryKey: keys.apiKeys });
    },
    onError,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit} className="flex items-end gap-2">
      <div className="min-w-0 flex-1">
        <Field
          name="key-name"
          label={t("name")}
          placeholder={t("nameHint")}
          autoComplete="off"
          required
          maxLength={32}
          value={name}
          onValueChange={setName}
        />
      </div>
      <Button type="submit" className="h-10" disabled={create.isPending || name.trim() === ""}>
        {t("create")}
      </Button>
    </form>
  );
}
