"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { api } from "../client/api.ts";
import { keys } from "../data/keys.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { RevokeDialog } from "./api-keys/revoke-dialog.tsx";

interface Props {
  readonly apiKey: {
    readonly id: string;
    readonly name: string;
    readonly start: string;
    readonly createdAt: string;
    readonly lastUsedAt: string | null;
  };
}

export function ApiKeyRow({ apiKey }: Props) {
  const t = useTranslations("apiKeys");
  const format = useFormatter();
  const queries = useQueryClient();
  const onError = useFailureToast();
  const [isAsking, setAsking] = useState(false);
  const revoke = useMutation({
    mutationFn: () => api.apiKeys.revoke.mutate({ id: apiKey.id }),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.apiKeys }),
    onError,
  });
  const day = (iso: string) => format.dateTime(new Date(iso), { dateStyle: "medium" });
  return (
    <li className="flex items-center gap-4 py-2.5">
      <div className="min-w-0 flex-1">
        <p className="truncate text-sm font-medium">{apiKey.name}</p>
        <p className="tabular text-xs text-quiet">
          <code>{`${apiKey.start}…`}</code>
          {" · "}
          {t("made", { day: day(apiKey.createdAt) })}
          {" · "}
          {apiKey.lastUsedAt === null ? t("neverUsed") : t("used", { day: day(apiKey.lastUsedAt) })}
        </p>
      </div>
      <Button
        size="small"
        look="danger"
        disabled={revoke.isPending}
        aria-label={t("revokeNamed", { name: apiKey.name })}
        onClick={() => setAsking(true)}
      >
        {t("revoke")}
      </Button>
      <RevokeDialog
        name={apiKey.name}
        isOpen={isAsking}
        onOpenChange={setAsking}
        onConfirm={() => {
          setAsking(false);
          revoke.mutate();
        }}
      />
    </li>
  );
}
