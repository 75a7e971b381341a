"use client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useFormatter, useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { api } from "../client/api.ts";
import { useFailureToast } from "../client/failures.ts";
import { keys } from "../client/queries.ts";
import { ShownOnce } from "../frame/shown-once.tsx";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/fields.tsx";
import { Confirmation } from "../ui/overlays.tsx";
import { SettingsSection } from "./section.tsx";

interface RevokeDialogProps {
  readonly name: string;
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly onConfirm: () => void;
}

/** Asks for confirmation, because a revoked key cannot be restored. */
function RevokeDialog({ name, isOpen, onOpenChange, onConfirm }: RevokeDialogProps) {
  const t = useTranslations("apiKeys");
  return (
    <Confirmation
      open={isOpen}
      onOpenChange={onOpenChange}
      title={t("revokeQuestion", { name })}
      keep={t("revokeCancel")}
      confirm={t("revokeConfirm")}
      onConfirm={onConfirm}
    >
      {t("revokeText")}
    </Confirmation>
  );
}

interface ApiKeyRowProps {
  readonly apiKey: {
    readonly id: string;
    readonly name: string;
    readonly start: string;
    readonly createdAt: string;
    readonly lastUsedAt: string | null;
  };
}

function ApiKeyRow({ apiKey }: ApiKeyRowProps) {
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

function CreateKeyForm({ onCreated }: { readonly onCreated: (key: string) => void }) {
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
      <Button
        type="submit"
        className="h-10 pointer-coarse:h-11"
        disabled={create.isPending || name.trim() === ""}
      >
        {t("create")}
      </Button>
    </form>
  );
}

export function ApiKeysSection() {
  const t = useTranslations("apiKeys");
  const [newKey, setNewKey] = useState<string | null>(null);
  const { data } = useQuery({ queryKey: keys.apiKeys, queryFn: () => api.apiKeys.list.query() });
  return (
    <SettingsSection id="api-keys" title={t("title")} text={t("text")}>
      <div className="flex max-w-[640px] flex-col gap-5">
        <CreateKeyForm onCreated={setNewKey} />
        {newKey === null ? null : (
          <ShownOnce text={t("shownOnce")} value={newKey} onDone={() => setNewKey(null)} />
        )}
        {data === undefined || data.items.length === 0 ? null : (
          <ul aria-label={t("title")} className="divide-y divide-line border-y border-line">
            {data.items.map((key) => (
              <ApiKeyRow key={key.id} apiKey={key} />
            ))}
          </ul>
        )}
        <a
          href="/api/v1/docs"
          target="_blank"
          rel="noreferrer"
          className="self-start text-xs underline underline-offset-4"
        >
          {t("docs")}
        </a>
      </div>
    </SettingsSection>
  );
}
