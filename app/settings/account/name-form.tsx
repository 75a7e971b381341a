"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { authClient } from "../../data/auth-client.ts";
import { keys } from "../../data/keys.ts";
import { useFailureToast } from "../../data/use-failure-toast.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { toastDone } from "../../ui/toasts.ts";

export function NameForm({ name: current }: { readonly name: string }) {
  const t = useTranslations("settings");
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [name, setName] = useState(current);
  const save = useMutation({
    mutationFn: async () => {
      const { error } = await authClient.updateUser({ name: name.trim() });
      if (error !== null) throw error;
    },
    onSuccess: () => {
      toastDone(t("saved"));
      return queries.invalidateQueries({ queryKey: keys.me });
    },
    onError,
  });
  return (
    <form
      className="flex max-w-[420px] flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Field
        name="name"
        label={t("name")}
        autoComplete="name"
        required
        maxLength={80}
        value={name}
        onValueChange={setName}
      />
      <Button
        type="submit"
        className="self-start"
        disabled={save.isPending || name.trim() === "" || name === current}
      >
        {t("saveName")}
      </Button>
    </form>
  );
}
